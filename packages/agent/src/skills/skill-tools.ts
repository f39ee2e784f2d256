import { limits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { skillImports, skillMeshTools } from '@flotilla/protocol/skill-surface'
import type { DataFiles } from '../files/data-files.ts'
import { text } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool, ToolContext } from '../tools/tool.ts'
import type { CheckSource } from './check-source.ts'
import { readInstructions } from './load-shelf.ts'
import type { Shelf } from './load-shelf.ts'
import { shelfBounds, skillsFolder } from './skill.ts'

const namePattern = /^[a-z][a-z0-9_]{1,47}$/
/** A source that is too long is sent to the check, which reports it. */
const codeMaxChars = 4 * limits.skillSourceMaxChars
const guideNameMaxChars = 64

/** Names that no skill can use, besides those of the other tools. */
export const skillToolNames: readonly string[] = ['create_skill', 'reload_skills', 'use_skill']

export interface SkillToolsDeps {
  readonly files: DataFiles
  readonly check: CheckSource
  readonly taken: ReadonlySet<string>
  readonly shelf: () => Shelf
  /** Reads the folder again, and offers what it finds. */
  readonly reload: (context: Pick<ToolContext, 'mesh' | 'signal'>) => Promise<Shelf>
}

/** Tools with which an agent extends itself. */
export function skillTools(deps: SkillToolsDeps): Tool[] {
  const shelf = deps.shelf()
  return [
    defineTool({
      name: 'create_skill',
      description: `Writes a tool of your own that you can call from your next answer on: its source in TypeScript, kept as /data/${skillsFolder}/NAME.ts, replaced when it is there. It computes; files, network and programs are out of its reach. Form: import { skill } from '@flotilla/skill'; export default skill('NAME', 'what it does', { text: { type: 'string', description: '...' } }, async ({ text }, { mesh_client }) => { return { words: text.split(' ').length } }). A parameter with a default may be left out. It returns a plain object. mesh_client has ${skillMeshTools.join(', ')}, async functions of one object each, as your tools of these names take it. Imports: ${skillImports.join(', ')}.`,
      parameters: {
        name: text('The name, as in the source: a-z, 0-9 and _', { minChars: 2, maxChars: 48 }),
        code: text(`The whole source, up to ${limits.skillSourceMaxChars} characters`, {
          minChars: 1,
          maxChars: codeMaxChars,
        }),
      },
      effect: 'local',
      deferred: true,
      timeoutMs: meshToolTimeoutMs,
      run: async (values, context) => succeeded(await create(deps, values, context)),
    }),
    defineTool({
      name: 'reload_skills',
      description: `Reads /data/${skillsFolder} again, after you changed files there: skills (NAME.ts, NAME.js) and folders with instructions (NAME/SKILL.md).${brokenNote(shelf)}`,
      parameters: {},
      effect: 'none',
      deferred: true,
      timeoutMs: meshToolTimeoutMs,
      run: async (_values, context) => succeeded(describeShelf(await deps.reload(context))),
    }),
    ...(shelf.guides.length === 0 ? [] : [useSkill(deps, shelf)]),
  ]
}

function useSkill({ files }: SkillToolsDeps, { guides }: Shelf): Tool {
  const list = guides.map(({ name, description }) => `- ${name}: ${description}`)
  return defineTool({
    name: 'use_skill',
    description: `Gives you the instructions of a skill. Call it before you do work that one of these is about:\n${list.join('\n')}`,
    parameters: { name: text('Its name', { minChars: 1, maxChars: guideNameMaxChars }) },
    effect: 'none',
    timeoutMs: meshToolTimeoutMs,
    run: async ({ name }) => {
      if (!guides.some((guide) => guide.name === name)) {
        const names = guides.map((guide) => guide.name).join(', ')
        throw new Problem('not-found', { detail: `No skill has this name; the skills are ${names}.` })
      }
      const { body, files: beside } = await readInstructions(files, name)
      const more = beside.length === 0 ? '' : `\n\nFiles that belong to this skill:\n${beside.join('\n')}`
      return succeeded(body.trim() + more)
    },
  })
}

async function create(
  deps: SkillToolsDeps,
  { name, code }: { name: string; code: string },
  context: ToolContext,
): Promise<unknown> {
  if (!namePattern.test(name)) {
    throw new Problem('bad-request', {
      detail: 'The name of a skill must be 2 to 48 of a-z, 0-9 and _, and start with a letter.',
    })
  }
  if (deps.taken.has(name)) {
    throw new Problem('conflict', {
      detail: `You already have a tool ${name}; choose another name for the skill.`,
    })
  }
  const file = `${name}.ts`
  const { skills } = deps.shelf()
  const there = skills.find((skill) => skill.name === name)
  if (there && there.file !== file) {
    throw new Problem('conflict', {
      detail: `The file /data/${skillsFolder}/${there.file} already has a skill ${name}; change that file.`,
    })
  }
  if (!there && skills.length >= shelfBounds.skillsMax) {
    throw new Problem('conflict', {
      detail: `You have ${shelfBounds.skillsMax} skills, the maximum; delete the file of one, then call reload_skills.`,
    })
  }
  const checked = await deps.check(code, context)
  if (checked.name !== name) {
    throw new Problem('bad-request', {
      detail: `The source has the skill name ${checked.name}, but the parameter name is ${name}; use the same name.`,
    })
  }
  await deps.files.write(`${skillsFolder}/${file}`, Buffer.from(code))
  await deps.reload(context)
  return {
    created: name,
    file: `/data/${skillsFolder}/${file}`,
    parameters: checked.parameters,
    next: 'Call it by its name, or with call_tool if you have it.',
  }
}

function describeShelf({ skills, guides, broken }: Shelf): unknown {
  return {
    skills: skills.map(({ name, file }) => ({ name, file })),
    instructions: guides.map(({ name }) => name),
    broken,
  }
}

/** A note that the model reads with every result, so that a broken file is not forgotten. */
function brokenNote({ broken }: Shelf): string {
  if (broken.length === 0) return ''
  const shown = broken.slice(0, brokenShownMax).map(({ file, reason }) => `- ${file}: ${reason}`)
  const more = broken.length > brokenShownMax ? `\nand ${broken.length - brokenShownMax} more` : ''
  return ` These files cannot be used; correct or remove them:\n${shown.join('\n')}${more}`
}

const brokenShownMax = 5
