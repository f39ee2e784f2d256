import { promises } from 'node:fs'
import { join } from 'node:path'
import { workspaceTextMaxChars } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { Clock } from '@flotilla/protocol/clock'
import { findWorkspaceFile, workspaceFiles } from '@flotilla/protocol/workspace-file'
import type { WorkspaceFile } from '@flotilla/protocol/workspace-file'
import type { DataFiles } from '../files/data-files.ts'
import { keepBackup } from './backups.ts'
import { defaultHeartbeats } from './default-heartbeat.ts'
import { codeOf } from '../files/walk-path.ts'

export const workspaceFolder = 'workspace'

export interface WorkspaceEntry {
  readonly name: string
  readonly size: number
  readonly cap: number | null
  readonly is_default: boolean
  readonly read_only: boolean
}

/**
 * The nine files that define an agent. PROJECT.md and SYSTEM.md come from the directory of bootstrap files
 * that the mesh writes; the others are in the agent's own volume. Problems: `not-found` for a tenth name,
 * `denied` for writing a read-only file, `body-too-large` above the limit.
 */
export interface Workspace {
  /** Writes the default files that are missing. Idempotent; every other function does so first. */
  lay(): Promise<void>
  list(): Promise<readonly WorkspaceEntry[]>
  /** Empty if the file does not exist. */
  read(name: string): Promise<string>
  write(name: string, content: string): Promise<{ filename: string; size: number }>
  isDefault(name: string): Promise<boolean>
}

export function createWorkspace(deps: {
  files: DataFiles
  briefingDirectory: string
  initialInstructions: string
  clock: Clock
}): Workspace {
  const { files } = deps
  let scaffolded: Promise<void> | null = null

  const readStored = async (file: WorkspaceFile): Promise<string | null> => {
    try {
      if (file.readOnly) return await promises.readFile(join(deps.briefingDirectory, file.name), 'utf8')
      return (await files.read(file.path, workspaceTextMaxChars)).toString('utf8')
    } catch (error) {
      const missing = error instanceof Problem ? error.code === 'not-found' : codeOf(error) === 'ENOENT'
      if (missing) return null
      throw error
    }
  }
  const store = async (file: WorkspaceFile, content: string): Promise<number> =>
    files.write(file.path, Buffer.from(content), { durable: true })
  /** Content that was not a default is saved as a backup with the time of its replacement. */
  const backUp = async (file: WorkspaceFile, next: string): Promise<void> => {
    const before = await readStored(file)
    if (before === null || before === next || isDefaultContent(file, before)) return
    await keepBackup({ files, clock: deps.clock }, file.name, before)
  }
  /** Default files are written at the first use and not at the start: an agent without work writes nothing. */
  const scaffold = async (): Promise<void> => {
    for (const file of workspaceFiles) {
      if (file.readOnly) continue
      const stored = await readStored(file)
      if (stored !== null && !isOutdatedDefault(file, stored)) continue
      const seeded = file.name === 'INSTRUCTIONS.md' && deps.initialInstructions.trim() !== ''
      await store(file, seeded ? cap(file, sanitizeForPrompt(deps.initialInstructions)) : defaultOf(file))
    }
  }
  const ready = (): Promise<void> => {
    scaffolded ??= scaffold().catch((error: unknown) => {
      scaffolded = null
      throw error
    })
    return scaffolded
  }
  const read = async (name: string): Promise<string> => {
    const file = known(name)
    await ready()
    return (await readStored(file)) ?? ''
  }
  return {
    lay: ready,
    read,
    isDefault: async (name) => isDefaultContent(known(name), await read(name)),
    list: async () => {
      await ready()
      return Promise.all(
        workspaceFiles.map(async (file) => {
          const content = (await readStored(file)) ?? ''
          return {
            name: file.name,
            size: content.length,
            cap: file.maxChars,
            is_default: isDefaultContent(file, content),
            read_only: file.readOnly,
          }
        }),
      )
    },
    write: async (name, content) => {
      const file = known(name)
      if (file.readOnly) throw new Problem('denied', { detail: `Only the mesh writes ${name}.` })
      const clean = sanitizeForPrompt(content)
      if (clean.length > (file.maxChars ?? workspaceTextMaxChars)) {
        throw new Problem('body-too-large', { detail: `${name} has at most ${file.maxChars} characters.` })
      }
      await ready()
      await backUp(file, clean)
      await store(file, clean)
      return { filename: name, size: clean.length }
    },
  }
}

/** True if the content is missing, empty, or a default: no person and no agent has written it yet. Pure. */
export function isDefaultContent(file: WorkspaceFile, content: string): boolean {
  const text = content.trim()
  return text === '' || defaultsOf(file).some((known) => known.trim() === text)
}

/** True for the default of an earlier release. Not for an empty file: its owner emptied it on purpose. Pure. */
export function isOutdatedDefault(file: WorkspaceFile, content: string): boolean {
  const [newest, ...older] = defaultsOf(file).map((known) => known.trim())
  const text = content.trim()
  return text !== newest && older.includes(text)
}

/** Defaults of the file, newest first. */
function defaultsOf(file: WorkspaceFile): readonly string[] {
  return file.name === 'HEARTBEAT.md' ? defaultHeartbeats : [headingOf(file)]
}

function defaultOf(file: WorkspaceFile): string {
  return defaultsOf(file)[0] ?? headingOf(file)
}

function headingOf(file: WorkspaceFile): string {
  return `# ${file.name.replace(/\.md$/, '')}\n`
}

function cap(file: WorkspaceFile, content: string): string {
  return file.maxChars === null ? content : content.slice(0, file.maxChars)
}

function known(name: string): WorkspaceFile {
  const file = findWorkspaceFile(name)
  if (!file) throw new Problem('not-found', { detail: 'No workspace file has this name.' })
  return file
}
