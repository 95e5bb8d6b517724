// The form's figures: `ours RUN_FOLDER` says what a run took, `table FILE` compares the rounds.
import { readFileSync, readdirSync } from 'node:fs';
import { events, median } from './events.mjs';

const [mode, where] = process.argv.slice(2);
if (mode === 'ours') {
  // Beside the run stand its lock and the link to the latest.
  const run = readdirSync(where).find((name) => /^\d{8}-/.test(name));
  const all = events(`${where}/${run}`);
  const end = all.find((e) => e.event === 'scenario_finished');
  if (end.status !== 'passed') throw new Error(`the scenario ended as ${end.status}: ${end.message}`);
  const opening = end.ms_by_part.browser ?? 0;
  console.log(`ours ${end.ms + opening} ${JSON.stringify(end.ms_by_part)}`);
} else {
  const rounds = readFileSync(where, 'utf8').trim().split('\n').map((line) => line.split(' '));
  const of = (name) => rounds.filter(([word]) => word === name).map(([, ms]) => Number(ms));
  const [ours, theirs, bare] = [of('ours'), of('playwright'), of('bare')];
  const ratio = (those) => median(ours.map((ms, i) => ms / those[i]));
  console.log(`median: ours ${median(ours)} ms, playwright ${median(theirs)} ms, WebDriver's commands alone ${median(bare)} ms`);
  console.log(`of playwright ${ratio(theirs).toFixed(2)}: ${ratio(theirs) <= 1 ? 'met' : 'MISSED'}; of the commands alone ${ratio(bare).toFixed(2)}`);
}
