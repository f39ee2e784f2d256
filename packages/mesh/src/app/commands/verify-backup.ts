import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { verifyBackup, whatIsMissing } from '@flotilla/operations/backup'
import { Problem } from '@flotilla/protocol/problem'
import { passphraseOf, requireFile } from './backup.ts'
import type { CommandContext } from './command-context.ts'

/** Reads the backup `--file` to its end and reports what it contains; changes no home. */
export async function verify(context: CommandContext): Promise<number> {
  context.print({ progress: 'Reading the backup to its end' })
  const file = resolve(requireFile(context))
  const { about, entries, bytes, agents } = await verifyBackup({
    file,
    passphrase: passphraseOf(context),
    temporary: tmpdir(),
    moved: (moved) => context.print({ moved }),
    signal: context.stopped,
  })
  const damaged = agents.filter(({ state }) => state === 'damaged')
  if (damaged.length > 0) {
    const named = damaged.slice(0, namedMax).map(({ agent, why }) => `${agent} (${why})`)
    throw new Problem('unprocessable', {
      detail: `the data of ${damaged.length === 1 ? 'an agent' : `${damaged.length} agents`} in this backup is damaged: ${named.join(', ')}; the rest of the backup is intact`,
      repair:
        'Use another copy of this file, or another backup. A restore of this file leaves out the damaged data and restores the rest.',
    })
  }
  context.print({ ok: true, about, entries, bytes, ...whatIsMissing({ home: about.skipped, agents }) })
  return 0
}

const namedMax = 10
