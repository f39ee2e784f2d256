import { readFile } from 'node:fs/promises'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps } from '../context.ts'
import { askHidden, readAll } from '../terminal/read-secret.ts'

/** As file name it means the terminal, where the passphrase is asked for, or else standard input. */
const sentIn = '-'
/** Shorter passphrases can be guessed, however expensive the key derivation is. */
const passphraseMinChars = 8

type Deps = Pick<CliDeps, 'input' | 'err' | 'signal'>

/** Reads the passphrase from `--passphrase-file`, null without that option. It is never a command-line argument. */
export async function passphraseIn(
  deps: Deps,
  path: string | undefined,
  verb: string,
): Promise<string | null> {
  if (path === undefined) return null
  const isSentIn = path === sentIn
  const text = isSentIn ? await typedPassphrase(deps, verb) : await passphraseFile(path)
  const passphrase = text.split('\n', 1)[0]?.replace(/\r$/, '') ?? ''
  if (passphrase.length >= passphraseMinChars) return passphrase
  const [given, other] = isSentIn
    ? ['the passphrase', 'Give the passphrase']
    : [`the first line of ${path}`, 'Name the file']
  throw new CommandFailed('bad-request', {
    detail: `${given} is shorter than ${passphraseMinChars} characters`,
    repair:
      verb === 'backup'
        ? 'Choose a longer passphrase: anyone who has the file can guess without a limit.'
        : `${other} that the backup was made with; no backup has a passphrase as short as this.`,
  })
}

/** Asks for a passphrase, for encryption twice: after a typing error the backup could never be opened. */
async function typedPassphrase(deps: Deps, verb: string): Promise<string> {
  if (deps.input.isTTY !== true) return readAll(deps.input)
  const typed = await askHidden(deps, 'Passphrase: ')
  if (verb !== 'backup' || (await askHidden(deps, 'Once more: ')) === typed) return typed
  throw new CommandFailed('bad-request', {
    detail: 'the two passphrases are not the same',
    repair: 'Run the command again; nothing was written.',
  })
}

function passphraseFile(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandFailed('bad-request', {
      detail: `the passphrase file ${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      repair: 'Name a file whose first line is the passphrase.',
    })
  })
}
