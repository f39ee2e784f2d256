import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { verifyBackup } from '../../backup/index.ts'
import { passphraseOf, requireFile } from './backup.ts'
import type { CommandContext } from './command-context.ts'

/** Reads `--file` to its end and tells what it is; touches no home. */
export async function verify(context: CommandContext): Promise<number> {
  context.tell({ progress: 'Reading the backup to its end' })
  const { about, entries, bytes } = await verifyBackup({
    file: resolve(requireFile(context)),
    passphrase: passphraseOf(context),
    temporary: tmpdir(),
    moved: (moved) => context.tell({ moved }),
  })
  context.tell({ ok: true, about, entries, bytes })
  return 0
}
