import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { DataFiles, FileEntry } from '../files/data-files.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { CheckSource } from './check-source.ts'
import { readGuide } from './read-guide.ts'
import { shelfBounds, skillsFolder } from './skill.ts'
import type { Broken, Guide, Skill } from './skill.ts'

/** The content of the skills folder at one point in time. */
export interface Shelf {
  readonly skills: readonly Skill[]
  readonly guides: readonly Guide[]
  readonly broken: readonly Broken[]
  /** False if a source could not be checked just now, so that a retry is worthwhile. */
  readonly whole: boolean
}

export interface LoadShelfDeps {
  readonly files: DataFiles
  readonly check: CheckSource
}

/**
 * Reads only the skills folder itself: link targets and deeper files are left out, except the SKILL.md of a
 * folder. Names in `taken` belong to other tools and stay theirs.
 */
export async function loadShelf(
  deps: LoadShelfDeps,
  context: { readonly mesh: RunMesh; readonly signal: AbortSignal; readonly taken: ReadonlySet<string> },
): Promise<Shelf> {
  const skills: Skill[] = []
  const guides: Guide[] = []
  const broken: Broken[] = []
  let whole = true
  const reportBroken = (file: string, error: unknown): void => {
    context.signal.throwIfAborted()
    const message = error instanceof Error ? error.message : String(error)
    const reason = sanitizeForPrompt(sanitizeForPrompt(message).slice(0, shelfBounds.reasonMaxChars))
    broken.push({ file: sanitizeForPrompt(file), reason })
    whole &&= !(error instanceof Problem) || settledCodes.includes(error.code)
  }
  for (const { path, kind } of await entriesOf(deps.files)) {
    try {
      if (kind === 'directory') {
        const guide = await guideIn(deps.files, path)
        if (guide && guides.length >= shelfBounds.guidesMax) throw tooMany(shelfBounds.guidesMax)
        if (guide) guides.push(guide)
      } else if (/\.[jt]s$/.test(path)) {
        if (kind !== 'file') throw new Error('the file is a symbolic link; only regular files are loaded')
        if (skills.length >= shelfBounds.skillsMax) throw tooMany(shelfBounds.skillsMax)
        const source = await deps.files.read(`${skillsFolder}/${path}`, shelfBounds.sourceMaxBytes)
        const skill = { ...(await deps.check(source.toString('utf8'), context)), file: path }
        refuseTaken(skill, context.taken, skills)
        skills.push(skill)
      }
    } catch (error) {
      reportBroken(path, error)
    }
  }
  return { skills, guides, broken, whole }
}

/** Codes of problems that the mesh would report again for the same source. */
const settledCodes: readonly string[] = ['skill-rejected', 'bad-request', 'body-too-large', 'conflict']

/** The current instructions of a guide, and the files beside them. Problem `not-found`. */
export async function readInstructions(
  files: DataFiles,
  name: string,
): Promise<{ readonly body: string; readonly files: readonly string[] }> {
  const content = await files.read(`${skillsFolder}/${name}/SKILL.md`, shelfBounds.guideMaxBytes)
  const { body } = await readGuide(name, content.toString('utf8'))
  const listed = await files.list(`${skillsFolder}/${name}`, { recursive: true, entriesMax: 50 })
  const beside = listed.filter(({ path, kind }) => kind === 'file' && path !== 'SKILL.md')
  return { body, files: beside.map(({ path }) => `/data/${skillsFolder}/${name}/${path}`) }
}

/** Entries of the folder itself; empty if it is missing, or its name leads elsewhere. */
async function entriesOf(files: DataFiles): Promise<readonly FileEntry[]> {
  try {
    const [root, folder] = [await files.directory('.'), await files.directory(skillsFolder)]
    if (folder !== `${root}/${skillsFolder}`) return []
    return await files.list(skillsFolder, { recursive: false, entriesMax: shelfBounds.entriesMax })
  } catch (error) {
    if (error instanceof Problem) return []
    throw error
  }
}

async function guideIn(files: DataFiles, folder: string): Promise<Guide | null> {
  const path = `${skillsFolder}/${folder}`
  const listed = await files.list(path, { recursive: false, entriesMax: shelfBounds.entriesMax })
  if (!listed.some((entry) => entry.path === 'SKILL.md' && entry.kind === 'file')) return null
  const content = await files.read(`${path}/SKILL.md`, shelfBounds.guideMaxBytes)
  return (await readGuide(folder, content.toString('utf8'))).guide
}

function refuseTaken(skill: Skill, taken: ReadonlySet<string>, skills: readonly Skill[]): void {
  if (taken.has(skill.name)) {
    throw new Problem('conflict', { detail: `A tool ${skill.name} already exists; choose another name.` })
  }
  const other = skills.find(({ name }) => name === skill.name)
  if (other)
    throw new Problem('conflict', { detail: `The file ${other.file} already has a skill ${skill.name}.` })
}

function tooMany(max: number): Error {
  return new Error(`the folder has more than ${max} skills; remove one that you do not need`)
}
