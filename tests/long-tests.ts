/**
 * Test files that kill processes repeatedly, wait for what happens after minutes, flood the mesh, or boot virtual
 * machines. `npm run test:long` runs them; `npm test` runs all others. The list replaces a suffix in the file
 * names, so that a file keeps its name when it moves between the two commands.
 */
const flows = [
  'agent-dies-in-call',
  'agent-killed',
  'agent-stuck',
  'backup',
  'chaos',
  'completion',
  'crash',
  'cron',
  'demo',
  'disk-full',
  'heartbeat',
  'money-crash',
  'process-orphans',
  'steer',
  'supervisor',
  'wallet-cuts',
  'watchers',
].map((name) => `tests/flows/${name}.test.ts`)
const security = ['entrance-flood', 'fleet-flood', 'journal', 'list-flood', 'loop-flood'].map(
  (name) => `tests/security/${name}.test.ts`,
)

export const longFlows: readonly string[] = [...flows, ...security]

export const longContainerTests: readonly string[] = [
  'agent-means',
  'agent-takeover',
  'backup',
  'browser-fleet',
  'cluster-image',
  'data-full',
  'data-limit',
  'exhaustion',
  'interleaving',
  'machine-fleet',
  'mind-footprint',
  'money-attacks',
  'money-crash',
  'start-share',
].map((name) => `tests/docker/${name}.test.ts`)
