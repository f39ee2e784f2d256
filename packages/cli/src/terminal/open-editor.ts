import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommandFailed } from '../command-failed.ts'

/** A text that a person has edited, after the editor was closed. */
export interface EditedText {
  readonly text: string
  /** The path of the edited file. `taken` deletes the file; if the text cannot be used, the file remains. */
  readonly path: string
  taken(): Promise<void>
}

/** Opens a text in the person's own editor until they close it, with a file name that shows its format. */
export async function openEditor(
  editor: string,
  { name, text }: { readonly name: string; readonly text: string },
): Promise<EditedText> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-edit-'))
  const path = join(folder, name)
  await writeFile(path, text, { mode: 0o600 })
  // Started by a shell, because people write commands with options such as `code --wait` into EDITOR.
  const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit' })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  if (code !== 0) {
    throw new CommandFailed('editor-failed', {
      detail: `The editor ${editor} ended with ${code ?? 'a signal'}, so nothing was changed. The edited text is in ${path}.`,
      repair: 'Set another editor with EDITOR, or pass the value as an argument: @file reads it from a file.',
    })
  }
  const written = await readFile(path, 'utf8')
  return {
    // Most editors append a line break that the person did not type.
    text: text.endsWith('\n') ? written : written.replace(/\n$/, ''),
    path,
    taken: () => rm(folder, { recursive: true, force: true }),
  }
}
