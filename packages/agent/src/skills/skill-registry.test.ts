import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { checkSkill } from '../../../egress/src/skills/check-skill.ts'
import { createSkillCheck } from '../../../egress/src/skills/create-skill-check.ts'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { createDataFiles } from '../files/data-files.ts'
import type { RunMeshCall } from '../mesh/run-mesh.ts'
import { systemClock } from '../system-clock.ts'
import { fakeTool, noMesh } from '../testing/loop-parts.ts'
import { executeToolCall } from '../tools/execute-tool-call.ts'
import type { Tool } from '../tools/tool.ts'
import { shelfBounds } from './skill.ts'
import { createSkillRegistry } from './skill-registry.ts'

const source = (name: string, body = 'return { twice: n * 2 }') => `import { skill } from '@flotilla/skill'
export default skill('${name}', 'Doubles\\u200B\\u200B a number', { n: { type: 'number' } }, async ({ n }: { n: number }, { mesh_client }) => {
  ${body}
})
`
const guide = (name: string, description = 'How to write reports') =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\nWrite them short.\n`

const signal = new AbortController().signal

/** An agent's disk with these files, a mesh that checks, and the tools that a run is offered. */
async function room(files: Readonly<Record<string, string>> = {}) {
  const data = mkdtempSync(join(tmpdir(), 'skills-'))
  const put = (path: string, content: string): void => {
    mkdirSync(dirname(join(data, path)), { recursive: true })
    writeFileSync(join(data, path), content)
  }
  for (const [path, content] of Object.entries(files)) put(path, content)
  const check = createSkillCheck({
    guard: () => undefined,
    journal: collectJournal(),
    checkSource: async (_agentId, text) => checkSkill(text),
  })
  const caller = { kind: 'agent', agentId: 'scout', token: 'door', run: null } as const
  const requests: string[] = []
  let away = false
  const mesh = {
    ...noMesh,
    call: async ({ body }: RunMeshCall) => {
      if (away) throw new Problem('rate-limited')
      const sent = body as { source: string } // what create-skill-check takes
      requests.push(sent.source)
      return check(caller, sent)
    },
  }
  const read = fakeTool('read_blackboard', 'none', (value) => ({ value }))
  const write = fakeTool('write_blackboard', 'mesh')
  const command = fakeTool('run_command', 'local')
  const skills = createSkillRegistry({
    files: createDataFiles(data),
    ownNames: ['hand_off'],
    newNonce: () => 'a nonce ',
    clock: systemClock,
  })
  const offer = () => skills.offer([read, write, command], { mesh, signal })
  let steps = 0
  const call = async (offered: readonly Tool[], name: string, input = {}) => {
    const tool = offered.find(({ definition }) => definition.name === name)
    if (!tool) throw new Error(`there is no ${name}`)
    const context = { mesh, idempotencyKey: `run_1:${(steps += 1)}`, taskId: null, signal }
    return executeToolCall(tool, input, { context, clock: systemClock })
  }
  const setAway = (value: boolean): void => void (away = value)
  return { data, put, offer, call, asked: requests, write, command, setAway, listed: skills.listed }
}
const namesOf = (tools: readonly Tool[]) => tools.map(({ definition }) => definition.name)
const toldBy = (tools: readonly Tool[], name: string) =>
  tools.find(({ definition }) => definition.name === name)?.definition.description ?? ''

describe('the skills of an agent', () => {
  test('the skills of an agent are found in its folder with the first run, and are tools of it', async () => {
    verifies('resources:skill:discovered')
    const { offer, call } = await room({
      'skills/double.ts': source('double'),
      'skills/half.js': `import { skill } from '@flotilla/skill'
export default skill('half', 'Halves', { n: { type: 'number', default: 8 } }, async ({ n }) => ({ half: n / 2 }))`,
    })
    const offered = await offer()
    const own = ['create_skill', 'reload_skills', 'double', 'half']
    expect(namesOf(offered)).toEqual(['read_blackboard', 'write_blackboard', 'run_command', ...own])
    expect(offered.find(({ definition }) => definition.name === 'double')?.definition).toEqual({
      name: 'double',
      description: 'Doubles a number',
      parameters: {
        type: 'object',
        properties: { n: { type: 'number' } },
        required: ['n'],
        additionalProperties: false,
      },
    })
    expect(JSON.parse((await call(offered, 'double', { n: 4 })).output)).toEqual({ twice: 8 })
    expect(JSON.parse((await call(offered, 'half')).output)).toEqual({ half: 4 })
    const wrong = await call(offered, 'double', { n: 'x' })
    expect(wrong).toMatchObject({ ok: false, code: 'bad-request' })
  })

  test('the skills of an agent call the tools of their agent, and those alone, under keys of their own call', async () => {
    verifies('resources:skill:mesh-client')
    const body = `const before = await mesh_client.read_blackboard({ value: 'a' })
  await mesh_client.write_blackboard({ value: 'b' })
  return { before: before.value, more: Object.keys(mesh_client).join() }`
    const { offer, call, write } = await room({ 'skills/keep.ts': source('keep', body) })
    const end = await call(await offer(), 'keep', { n: 1 })
    expect(JSON.parse(end.output)).toMatchObject({
      before: 'a',
      more: expect.not.stringContaining('run_command'),
    })
    expect(write.keys).toEqual(['run_1:1:2'])
  })

  test('the skills of an agent are written by create_skill and are there in the same run', async () => {
    verifies('resources:tool:create-skill', 'purpose:skills:created-at-runtime')
    const { offer, call } = await room()
    const offered = await offer()
    const made = await call(offered, 'create_skill', { name: 'double', code: source('double') })
    expect(made.ok).toBe(true)
    expect(JSON.parse((await call(offered, 'double', { n: 5 })).output)).toEqual({ twice: 10 })
    const again = source('double', 'return { twice: n + n, how: "added" }')
    await call(offered, 'create_skill', { name: 'double', code: again })
    expect(JSON.parse((await call(offered, 'double', { n: 5 })).output)).toEqual({ twice: 10, how: 'added' })
    expect(namesOf(await offer()).filter((name) => name === 'double')).toHaveLength(1)
  })

  test('the skills of an agent are listed among the abilities of the agent, and the tools that make them before any exists', async () => {
    const { offer, call, listed } = await room()
    const names = () => listed().map(({ definition }) => definition.name)
    expect(names()).toEqual(['create_skill', 'reload_skills'])
    await call(await offer(), 'create_skill', { name: 'double', code: source('double') })
    expect(names()).toEqual(['create_skill', 'reload_skills', 'double'])
  })

  test('the skills of an agent are read again by reload_skills', async () => {
    verifies('resources:tool:reload-skills', 'purpose:skills:hot-reloaded')
    const { offer, call, put, data, asked } = await room({ 'skills/double.ts': source('double') })
    const offered = await offer()
    put('skills/triple.ts', source('triple', 'return { thrice: n * 3 }'))
    rmSync(join(data, 'skills/double.ts'))
    const end = await call(offered, 'reload_skills')
    expect(JSON.parse(end.output)).toMatchObject({ skills: [{ name: 'triple', file: 'triple.ts' }] })
    expect(namesOf(offered)).not.toContain('double')
    expect(JSON.parse((await call(offered, 'triple', { n: 2 })).output)).toEqual({ thrice: 6 })
    await call(offered, 'reload_skills')
    expect(asked).toHaveLength(2)
  })

  test('the skills of an agent that are rejected never run, are not stored, and are reported with every error', async () => {
    verifies('resources:tool:create-skill-validated', 'errors:skill:forbidden-call')
    const { offer, call, data } = await room()
    const offered = await offer()
    const code = source('evil', 'return { a: eval("1"), b: process.pid }')
    const end = await call(offered, 'create_skill', { name: 'evil', code })
    expect(end).toMatchObject({ ok: false, code: 'skill-rejected' })
    expect(end.output).toMatch(/line 3, column \d+ \(forbidden-call\): eval/)
    expect(end.output).toMatch(/line 3, column \d+ \(unknown-name\): process/)
    expect(namesOf(offered)).not.toContain('evil')
    expect(() => rmSync(join(data, 'skills/evil.ts'))).toThrow('ENOENT')
  })

  test('the skills of an agent are checked at every load, whatever was there before', async () => {
    heedsLesson(37)
    const { offer, call, put, data } = await room({ 'skills/double.ts': source('double') })
    const offered = await offer()
    put('skills/double.ts', source('double', 'return { pid: process.pid }'))
    put('skills/note.json', '{}')
    symlinkSync(join(data, 'skills/double.ts'), join(data, 'skills/link.ts'))
    const end = await call(offered, 'reload_skills')
    expect(namesOf(offered)).not.toContain('double')
    expect(JSON.parse(end.output)).toMatchObject({
      skills: [],
      broken: [
        { file: 'double.ts', reason: expect.stringContaining('process does not exist in a skill') },
        { file: 'link.ts', reason: expect.stringContaining('symbolic link') },
      ],
    })
    expect(toldBy(offered, 'reload_skills')).toMatch(/These files cannot be used.*double\.ts: .*line 3/s)
  })

  test('the skills of an agent come only from their folder, and are empty without it', async () => {
    heedsLesson(38)
    const elsewhere = { 'evil.ts': source('evil'), 'sub/evil.ts': source('evil') }
    const none = await room(elsewhere)
    expect(namesOf(await none.offer())).not.toContain('evil')
    const linked = await room(elsewhere)
    symlinkSync('.', join(linked.data, 'skills'))
    expect(namesOf(await linked.offer())).not.toContain('evil')
    const out = await room(elsewhere)
    symlinkSync(process.cwd(), join(out.data, 'skills'))
    await out.offer()
    const deep = await room({ 'skills/a/evil.ts': source('evil') })
    await deep.offer()
    for (const { asked } of [none, linked, out, deep]) expect(asked).toEqual([])
  })

  test('the skills of an agent never take the name of a tool of the agent’s own that it is not offered', async () => {
    const { offer, call } = await room({ 'skills/a.ts': source('hand_off') })
    const offered = await offer()
    expect(namesOf(offered)).not.toContain('hand_off')
    expect(toldBy(offered, 'reload_skills')).toContain('A tool hand_off already exists')
    const end = await call(offered, 'create_skill', { name: 'hand_off', code: source('hand_off') })
    expect(end).toMatchObject({ ok: false, code: 'conflict' })
  })

  test('the skills of an agent never take the name of another tool, or of one another', async () => {
    const files = {
      'skills/a.ts': source('run_command'),
      'skills/b.ts': source('create_skill'),
      'skills/c.ts': source('double'),
      'skills/d.ts': source('double', 'return {}'),
    }
    const { offer, call } = await room(files)
    const offered = await offer()
    expect(namesOf(offered).slice(2)).toEqual(['run_command', 'create_skill', 'reload_skills', 'double'])
    expect(toldBy(offered, 'reload_skills')).toMatch(
      /a\.ts: .*run_command.*\n.*b\.ts.*\n.*d\.ts: .*c\.ts already has/,
    )
    const end = await call(offered, 'create_skill', { name: 'run_command', code: source('run_command') })
    expect(end).toMatchObject({ ok: false, code: 'conflict' })
    const other = await call(offered, 'create_skill', { name: 'other', code: source('double') })
    expect(other.output).toContain('skill name double')
  })

  test('the skills of an agent are bounded in number', async () => {
    const many = Array.from(
      { length: shelfBounds.skillsMax + 3 },
      (_, at) => `s${String(at).padStart(3, '0')}`,
    )
    const { offer, call } = await room(
      Object.fromEntries(many.map((name) => [`skills/${name}.ts`, source(name)])),
    )
    const offered = await offer()
    expect(namesOf(offered).filter((name) => name.startsWith('s0'))).toHaveLength(shelfBounds.skillsMax)
    const end = await call(offered, 'create_skill', { name: 'another', code: source('another') })
    expect(end.output).toContain('50 skills')
  })

  test('the skills of an agent that could not be checked are checked with the next run', async () => {
    const { offer, setAway } = await room({ 'skills/double.ts': source('double') })
    setAway(true)
    expect(namesOf(await offer())).not.toContain('double')
    setAway(false)
    expect(namesOf(await offer())).toContain('double')
  })

  test.each([
    ['a parameter of no type', `{ n: {} }`],
    ['a type that is none', `{ n: { type: 'date' } }`],
    ['a name that providers refuse', `{ 'n m': { type: 'number' } }`],
    ['choices that are no list', `{ n: { type: 'string', enum: {} } }`],
  ])(
    'skills of an agent with %s are reported as such before any model sees them',
    async (_what, parameters) => {
      const { offer } = await room({
        'skills/double.ts': source('double').replace("{ n: { type: 'number' } }", parameters),
      })
      const offered = await offer()
      expect(namesOf(offered)).not.toContain('double')
      expect(toldBy(offered, 'reload_skills')).toContain('double.ts: ')
    },
  )
})

describe('folders with instructions', () => {
  test('folders with instructions are listed by name and description, and read on request', async () => {
    const { offer, call } = await room({
      'skills/write-reports/SKILL.md': guide('write-reports', 'How to write\u200B\u200B\u200B reports'),
      'skills/write-reports/forms/a.md': 'x',
    })
    const offered = await offer()
    expect(toldBy(offered, 'use_skill')).toContain('- write-reports: How to write reports')
    const end = await call(offered, 'use_skill', { name: 'write-reports' })
    expect(end.output).toBe(
      'Write them short.\n\nFiles that belong to this skill:\n/data/skills/write-reports/forms/a.md',
    )
    const none = await call(offered, 'use_skill', { name: 'other' })
    expect(none).toMatchObject({ ok: false, code: 'not-found' })
  })

  test.each([
    ['no front matter', 'Just text'],
    ['front matter that does not end', '---\nname: bad\n'],
    ['another name', guide('other')],
    ['no description', '---\nname: bad\n---\nx'],
    ['a description that is too long', guide('bad', 'x'.repeat(1025))],
    ['front matter that is too long', `---\nname: bad\ndescription: d\nmore: ${'x'.repeat(4000)}\n---\n`],
    ['aliases', '---\na: &a [x]\nname: bad\ndescription: d\nb: *a\n---\n'],
    ['no YAML', '---\nname: [\n---\n'],
    ['more bytes than are read', guide('bad') + 'x'.repeat(64 * 1024)],
  ])('folders with instructions with %s are reported as broken', async (_what, content) => {
    const { offer } = await room({ 'skills/bad/SKILL.md': content, 'skills/good/SKILL.md': guide('good') })
    const offered = await offer()
    expect(toldBy(offered, 'reload_skills')).toContain('- bad: ')
    expect(toldBy(offered, 'use_skill')).toMatch(/:\n- good: How to write reports$/)
  })
})
