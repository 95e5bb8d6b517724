// Where a run's time went: the whole, each scenario, and by part. Takes a run's folder, else the newest.
import { readdirSync, statSync } from 'node:fs';
import { events } from './events.mjs';

let folder = process.argv[2];
if (!folder) {
  const runs = readdirSync('runs').map((name) => `runs/${name}`).filter((path) => statSync(path).isDirectory());
  folder = runs.sort().at(-1);
}
const all = events(folder);
const finished = all.filter((event) => event.event === 'scenario_finished');
const parts = [...new Set(finished.flatMap((event) => Object.keys(event.ms_by_part)))].sort();
const row = (name, cells) => console.log(name.padEnd(44), cells.map((cell) => String(cell).padStart(9)).join(''));
const seconds = (ms) => ((ms ?? 0) / 1000).toFixed(2);
row('scenario (seconds)', ['whole', ...parts, 'rest']);
const sums = new Map();
for (const event of finished) {
  const known = parts.reduce((sum, part) => sum + (part === 'browser' ? 0 : event.ms_by_part[part] ?? 0), 0);
  row(event.scenario, [seconds(event.ms), ...parts.map((part) => seconds(event.ms_by_part[part])), seconds(event.ms - known)]);
  for (const part of parts) sums.set(part, (sums.get(part) ?? 0) + (event.ms_by_part[part] ?? 0));
}
row('sum', [seconds(finished.reduce((sum, event) => sum + event.ms, 0)), ...parts.map((part) => seconds(sums.get(part)))]);
console.log(`whole run: ${seconds(all.at(-1).at_ms)} s`);
