// Playwright's side of the measurements, on the same Chromium.
//   reading  answers lines: open URL, snapshot, quit
//   form     fills the form as the scenario does, a picture after each step; prints the milliseconds
const { chromium } = require('playwright-core');
const executablePath = process.env.CHROMIUM || '/usr/bin/chromium';
const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];

async function reading() {
  const browser = await chromium.launch({ executablePath, args });
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const lines = require('node:readline').createInterface({ input: process.stdin });
  for await (const line of lines) {
    const [word, url] = line.split(' ');
    if (word === 'quit') break;
    if (word === 'open') {
      await page.goto(url);
      console.log('open');
    } else {
      const began = performance.now();
      try {
        const text = await page.locator('body').ariaSnapshot({ timeout: 120000 });
        console.log(`${(performance.now() - began).toFixed(2)} ${text.length}`);
      } catch (error) {
        console.log(`none within ${((performance.now() - began) / 1000).toFixed(0)} s`);
      }
    }
  }
  await browser.close();
}

async function form(url, folder, rounds) {
  const browser = await chromium.launch({ executablePath, args });
  for (let round = 0; round < rounds; round++) {
    const began = performance.now();
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    let n = 0;
    const picture = () => page.screenshot({ path: `${folder}/${n++}.png` });
    await page.goto(url);
    await picture();
    for (let i = 1; i <= 10; i++) {
      await page.getByLabel(`Field ${i}`, { exact: true }).fill(`value ${i}`);
      await picture();
    }
    for (let i = 1; i <= 10; i++) {
      await page.getByLabel(`Box ${i}`, { exact: true }).check();
      await picture();
    }
    await page.getByRole('button', { name: 'Send' }).click();
    await picture();
    await page.getByText('Received 10 fields and 10 boxes').waitFor();
    await picture();
    await page.getByText('Received 10 fields and 10 boxes').waitFor();
    console.log((performance.now() - began).toFixed(0));
    await context.close();
  }
  await browser.close();
}

const [mode, ...rest] = process.argv.slice(2);
(mode === 'form' ? form(rest[0], rest[1], Number(rest[2] || 5)) : reading()).catch((error) => {
  console.error(error);
  process.exit(1);
});
