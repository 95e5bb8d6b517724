"""The official Python client talks to `rehearsal mcp` and to the service's `/mcp`: a check by software
that is not ours.

Opt-in, run by ci/mcp-client: needs the package `mcp`. Prints the conversation.
"""

import asyncio
import json
import os
import sys
import urllib.request

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

PROGRAM, BROKER, SITE = sys.argv[1:4]
TOOLS = {
    "open_sites", "login_sites", "read_sites", "act_sites", "delete_sites",
    "run_scenario", "list_scenarios",
}


def approve(approval_id):
    """What a person does on the approvals page."""
    request = urllib.request.Request(
        f"{BROKER}/approvals/{approval_id}",
        data=json.dumps({"decision": "approve"}).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['APPROVER_TOKEN']}",
            "Content-Type": "application/json",
        },
    )
    urllib.request.urlopen(request).read()
    print(f"(a person approves {approval_id})")


async def talk(session):
    async def call(name, **arguments):
        result = await session.call_tool(name, arguments)
        answer = json.loads(result.content[0].text)
        shown = json.dumps(answer, ensure_ascii=False)
        print(f"> {name} {json.dumps(arguments)}\n< {shown[:400]}")
        for more in result.content[1:]:
            print(f"< [{more.type}]")
        return answer

    listed = {tool.name for tool in (await session.list_tools()).tools}
    assert listed == TOOLS, listed
    opened = await call("open_sites", start=SITE, credentials=["parcels-user"])
    at = opened["session"]
    asked = await call("login_sites", session=at, credential="parcels-user")
    assert asked["reason"] == "consent_required", asked
    approve(asked["approval_id"])
    done = await call(
        "login_sites", session=at, credential="parcels-user", approval_id=asked["approval_id"]
    )
    assert done["outcome"] == "signed_in", done
    acted = await call("act_sites", session=at, sentence="Click the link 1007")
    assert acted["ok"], acted
    read = await call("read_sites", session=at, picture=True)
    assert "Order 1007" in read["text"], read
    await call("delete_sites", session=at)


async def over_stdio():
    server = StdioServerParameters(
        command=PROGRAM,
        args=["mcp", "--broker", BROKER],
        env={"REHEARSAL_TOKEN": os.environ["REHEARSAL_TOKEN"]},
    )
    async with stdio_client(server) as (reading, writing):
        async with ClientSession(reading, writing) as session:
            await session.initialize()
            await talk(session)


async def over_http():
    token = {"Authorization": f"Bearer {os.environ['REHEARSAL_TOKEN']}"}
    client = create_mcp_http_client(headers=token)
    async with streamable_http_client(f"{BROKER}/mcp", http_client=client) as (reading, writing, *_):
        async with ClientSession(reading, writing) as session:
            await session.initialize()
            await talk(session)


async def main():
    print("# over standard input and output")
    await over_stdio()
    print("# over HTTP")
    await over_http()
    print("ok")


asyncio.run(main())
