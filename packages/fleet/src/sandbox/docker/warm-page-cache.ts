import type { Engine } from '../engine/connect-engine.ts'
import { runOnce } from '../engine/run-once.ts'

/** The time limit for reading the agent image into the page cache, in milliseconds. */
const warmTimeoutMs = 60_000

/**
 * A command that reads the files that every agent start needs. The kernel charges a file's pages to the first cgroup
 * that reads the file, and these 108 MB would use most of the first agent's memory.
 */
export const warmCommand = 'cat /usr/local/bin/node /opt/flotilla/*.cjs > /dev/null; node -e 0'

/** Runs `warmCommand` in a throw-away container, whose cgroup is then charged for the pages. */
export async function warmPageCache(
  engine: Engine,
  options: { readonly image: string; readonly homeTag: string; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  await runOnce(engine, {
    image: options.image,
    command: ['sh', '-c', warmCommand],
    labels: { 'flotilla.home': options.homeTag, 'flotilla.role': 'warm-up' },
    host: { NetworkMode: 'none', CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges'], ReadonlyRootfs: true },
    user: '1000:1000',
    timeoutMs: warmTimeoutMs,
    signal: options.signal,
  })
}
