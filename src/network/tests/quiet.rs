use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::rig::*;
use crate::network::{NetEvent, Quiet};

/// Answers with this head and then holds the connection open.
async fn holding(head: &'static str) -> (std::net::SocketAddr, tokio::task::JoinSet<()>) {
    raw_site(move |mut stream| async move {
        let mut buffer = [0; 4096];
        let _ = stream.read(&mut buffer).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        // Until the proxy hangs up.
        while matches!(stream.read(&mut buffer).await, Ok(1..)) {}
    })
    .await
}

#[tokio::test]
async fn requests_are_counted_from_start_to_end() {
    let (address, _site) = holding("").await;
    let rig = rig(config([mapped("http://code.test", address)])).await;
    let mut quiet = rig.proxy.quiet();
    assert_eq!(quiet.borrow_and_update().in_flight, 0);
    let mut client = rig.client().await;
    client
        .send(&request("GET", "http://code.test/", "", ""))
        .await;
    soon(quiet.wait_for(|q| q.in_flight == 1)).await.unwrap();
    drop(client);
    soon(quiet.wait_for(|q| q.in_flight == 0)).await.unwrap();
}

#[tokio::test]
async fn an_event_stream_does_not_count_for_ever() {
    let (address, _site) =
        holding("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n").await;
    let rig = rig(config([mapped("http://code.test", address)])).await;
    let mut client = rig.client().await;
    client
        .send(&request("GET", "http://code.test/events", "", ""))
        .await;
    assert!(
        client.until("data: 1\n\n").await.is_some(),
        "what has come is passed on at once"
    );
    let mut quiet = rig.proxy.quiet();
    soon(quiet.wait_for(|q| q.streams == 1 && q.in_flight == 0))
        .await
        .unwrap();
    drop(client);
    soon(quiet.wait_for(|q| q.streams == 0)).await.unwrap();
}

#[test]
fn a_long_poll_stops_counting_after_a_second() {
    let start = Instant::now();
    let ms = |n| start + Duration::from_millis(n);
    let idle = Duration::from_millis(300);
    let mut quiet = Quiet {
        in_flight: 1,
        streams: 0,
        youngest: Some(start),
        last: start,
    };
    assert!(!quiet.settled(ms(500), idle), "a request like any other");
    assert!(quiet.settled(ms(1000), idle), "a long poll");
    assert_eq!(quiet.settles_at(idle), ms(1000));
    quiet.last = ms(900);
    assert!(
        !quiet.settled(ms(1000), idle),
        "something else has just ended"
    );
    quiet.youngest = None;
    assert!(quiet.settled(ms(1200), idle));
}

#[tokio::test]
async fn taking_a_host_off_the_list_cuts_what_runs_to_it() {
    let (address, _site) = holding("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc").await;
    let kept = site().await;
    let rules = [
        mapped("http://code.test", address),
        mapped("https://code.test", address),
        mapped("http://kept.test", kept.address),
    ];
    let mut rig = rig(config(rules.clone())).await;
    let mut download = rig.client().await;
    download
        .send(&request("GET", "http://code.test/", "", ""))
        .await;
    assert!(download.until("abc").await.is_some());
    let mut tunnel = rig.secure("code.test:443").await;
    let mut other = rig.client().await;
    other
        .send(&request("GET", "http://kept.test/", "", ""))
        .await;
    assert_eq!(other.answer().await.unwrap().status, 200);

    let next = rig.proxy.allowed().without(&rules[0]).without(&rules[1]);
    rig.proxy.set_allow(next);
    assert_eq!(download.rest().await, "");
    assert_eq!(tunnel.rest().await, "");
    other
        .send(&request("GET", "http://kept.test/", "", ""))
        .await;
    assert_eq!(other.answer().await.unwrap().status, 200, "others go on");
    let reason = rig.failed().await;
    assert!(reason.contains("taken off the list"), "{reason}");
}

#[tokio::test]
async fn shutting_down_cuts_everything_and_frees_the_port() {
    let (address, _site) = holding("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc").await;
    let rig = rig(config([mapped("http://code.test", address)])).await;
    let mut client = rig.client().await;
    client
        .send(&request("GET", "http://code.test/", "", ""))
        .await;
    assert!(client.until("abc").await.is_some());
    let address = rig.proxy.address();
    rig.proxy.shutdown().await;
    client.rest().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn events_tell_of_a_request_from_start_to_end() {
    let site = answering(|_| {
        b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=a.csv\r\nContent-Length: 3\r\n\r\na,b".to_vec()
    })
    .await;
    let mut rig = rig(config([mapped("http://code.test", site.address)])).await;
    rig.say(&request(
        "GET",
        "http://code.test/a?b=c",
        "Sec-Fetch-Dest: document\r\n",
        "",
    ))
    .await;
    let started = rig.events.recv().await.unwrap();
    let NetEvent::Started {
        id,
        method,
        address,
        dest,
        ..
    } = started
    else {
        panic!("{started:?}")
    };
    assert_eq!(
        (method.as_str(), dest.as_deref()),
        ("GET", Some("document"))
    );
    assert_eq!(
        (address.url.as_str(), address.query.as_deref()),
        ("http://code.test/a", Some("b=c"))
    );
    assert_eq!(
        rig.events.recv().await.unwrap(),
        NetEvent::Answered {
            id,
            status: 200,
            content_type: Some("text/csv".to_owned()),
            content_disposition: Some("attachment; filename=a.csv".to_owned()),
            redirect: None,
        }
    );
    assert_eq!(
        soon(rig.events.recv()).await.unwrap(),
        NetEvent::Finished {
            id,
            bytes: 3,
            whole: true
        }
    );
}
