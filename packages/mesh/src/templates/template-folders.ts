import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { templateLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { readTextFile } from '../config/index.ts'
import { parseTemplate, templateNamePattern } from './template-file.ts'
import type { FleetTemplate } from './template-file.ts'

export interface FoundTemplate {
  readonly name: string
  /** Which of the folders has it: 0 is the owner's. */
  readonly folder: number
}

export interface FleetTemplates {
  /** All there are, by name; an owner's takes the place of one of ours. */
  list(): Promise<readonly FoundTemplate[]>
  /** The text as it stands in the file. Problem `not-found`, `unprocessable` for one that is too long to be read. */
  text(name: string): Promise<string>
  /** Problem `not-found` when there is none, `unprocessable` with the reason when it is broken. */
  read(name: string): Promise<FleetTemplate>
}

/** Templates below `folders`; the owner's folder first, so that an owner's file replaces one of ours. */
export function createTemplates(folders: readonly string[]): FleetTemplates {
  const noTemplate = async (name: string) => {
    const names = (await list()).map((one) => one.name).join(', ') || 'none'
    const shown = templateNamePattern.test(name) ? ` ${name}` : ' of this name'
    return new Problem('not-found', { detail: `there is no template${shown}; there are: ${names}` })
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
    // Only such names are ever joined to a folder, so none leads out of it.
    if (!templateNamePattern.test(name)) throw await noTemplate(name)
    for (const folder of folders) {
      const path = join(folder, `${name}.yaml`)
      const size = await sizeOf(path)
      if (size === null) continue
      // Looked at before it is read: four bytes are the longest character there is.
      if (size > templateLimits.fileMaxChars * 4) {
        throw new Problem('unprocessable', {
          detail: `template ${name}: it is longer than ${templateLimits.fileMaxChars} characters`,
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
