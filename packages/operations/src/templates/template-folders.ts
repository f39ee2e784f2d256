import { hintOfName } from '@flotilla/protocol/nearest-name'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { templateLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { readTextFile } from '@flotilla/foundation/config'
import { parseTemplate, templateNamePattern } from './template-file.ts'
import type { FleetTemplate } from './template-file.ts'

export interface FoundTemplate {
  readonly name: string
  /** The index of the template's folder; 0 is the owner's. */
  readonly folder: number
}

export interface FleetTemplates {
  /** All templates by name. A template of the owner replaces a shipped one with the same name. */
  list(): Promise<readonly FoundTemplate[]>
  /** Reads the text of a template. Throws Problem `not-found`, and `unprocessable` if the text is too long. */
  text(name: string): Promise<string>
  /** Parses a template. Throws Problem `not-found`, and `unprocessable` with the reason if the template is broken. */
  read(name: string): Promise<FleetTemplate>
}

/** The templates below `folders`. The owner's folder comes first, so that its files replace shipped ones. */
export function createTemplates(folders: readonly string[]): FleetTemplates {
  const noTemplate = async (name: string) => {
    const hint = hintOfName(
      name,
      (await list()).map((one) => one.name),
      'the templates are',
    )
    const shown = templateNamePattern.test(name) ? ` ${name}` : ' of this name'
    return new Problem('not-found', {
      detail: `there is no template${shown}; ${hint}`,
      repair: 'List the templates with flotilla templates.',
    })
  }

  async function list(): Promise<readonly FoundTemplate[]> {
    const found = new Map<string, number>()
    for (const [index, folder] of folders.entries()) {
      for (const name of await namesIn(folder)) if (!found.has(name)) found.set(name, index)
    }
    return [...found]
      .map(([name, folder]) => ({ name, folder }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  async function text(name: string): Promise<string> {
    // Only names of this form are joined to a folder, so that no path leads out of it.
    if (!templateNamePattern.test(name)) throw await noTemplate(name)
    for (const folder of folders) {
      const path = join(folder, `${name}.yaml`)
      const size = await sizeOf(path)
      if (size === null) continue
      // The size is checked before reading; a character has at most four bytes.
      if (size > templateLimits.fileMaxChars * 4) {
        throw new Problem('unprocessable', {
          detail: `template ${name}: the file is longer than ${templateLimits.fileMaxChars} characters`,
        })
      }
      const found = await readTextFile(path)
      if (found !== null) return found
    }
    throw await noTemplate(name)
  }

  return { list, text, read: async (name) => parseTemplate(name, await text(name)) }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    const found = await stat(path)
    return found.isFile() ? found.size : null
  } catch {
    return null
  }
}

async function namesIn(folder: string): Promise<string[]> {
  const files = await readdir(folder).catch(() => [])
  return files
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length))
    .filter((name) => templateNamePattern.test(name))
}
