// Reading a run's journal.
import { readFileSync } from 'node:fs';

export function events(folder) {
  const lines = readFileSync(`${folder}/events.jsonl`, 'utf8').split('\n');
  return lines.filter(Boolean).map((line) => JSON.parse(line));
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
