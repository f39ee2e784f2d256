import { execFile } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { pinnedNode, repositoryRoot } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'

/** Benches without a container engine, a page, or a comparison program in another language. */
const names = [
  'money',
  'cron',
  'memory',
  'egress',
  'webhooks',
  'watchers',
  'blackboard',
  'events',
  'runs',
  'help',
  'prompt-cache',
]
const roundMaxMs = patient(600_000)

it.runIf(process.env['FLOTILLA_SOAK'] === '1')(
  'every bench still measures what it says',
  async () => {
    const program = join(repositoryRoot, 'bench', 'main.ts')
    const { stdout } = await promisify(execFile)(pinnedNode, [program, ...names, '--runs', '1', '--json'], {
      maxBuffer: 32 * 1024 * 1024,
    }).catch((failed: { stdout: string }) => failed)
    const { benches } = JSON.parse(stdout) as { benches: Readonly<Record<string, { error?: string }>> }
    expect(Object.keys(benches)).toEqual(names)
    expect(Object.entries(benches).filter(([, { error }]) => error !== undefined)).toEqual([])
  },
  roundMaxMs,
)
