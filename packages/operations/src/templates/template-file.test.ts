import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '@flotilla/protocol/limits'
import { expect, onTestFinished, test } from 'vitest'
import { operatorMayChange } from '../../../identity/src/access/operator-ceiling.ts'
import { workerDefaultRecord } from '../../../identity/src/access/default-records.ts'
import { isDeep, parseTemplate } from './template-file.ts'
import { createTemplates } from './template-folders.ts'

const shipped = join(import.meta.dirname, '../../../../templates')
const agent = '{ id: a, role: r, instructions: i }'
const withAgents = (agents: string, more = '') => `name: t\ndescription: d\nagents:\n  - ${agents}\n${more}`

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-templates-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('every shipped template is valid, within limits and fits its files', async () => {
  const templates = createTemplates([shipped])
  const names = (await templates.list()).map(({ name }) => name)
  expect(names).toEqual([
    'code-review',
    'data-cleanup',
    'inbox-triage',
    'licence-audit',
    'on-call',
    'release-notes',
    'research-desk',
    'site-monitor',
    'starter',
    'support-drafts',
  ])
  for (const name of names) {
    const template = await templates.read(name)
    for (const made of template.agents) {
      expect(made.instructions?.length).toBeLessThan(limits.workspaceFileMaxChars['INSTRUCTIONS.md'])
      expect(operatorMayChange(workerDefaultRecord, made.permissions ?? {})).toEqual({ allowed: true })
    }
  }
})

test('the two shipped templates have the documented workers', async () => {
  const templates = createTemplates([shipped])
  const idsOf = async (name: string) => (await templates.read(name)).agents.map((made) => made.id)
  expect(await idsOf('starter')).toEqual(['worker-1', 'worker-2'])
  expect(await idsOf('licence-audit')).toEqual(['auditor', 'writer'])
})

test.each([
  '../t',
  '..',
  '.',
  '',
  't/../t',
  't.yaml',
  '/etc/passwd',
  'T',
  'a\u0000b',
  '%2e%2e',
  'x'.repeat(65),
])('the name %j is not found', async (name) => {
  const folder = await aFolder()
  await mkdir(join(folder, 'inner'))
  await writeFile(join(folder, 't.yaml'), withAgents(agent))
  await expect(createTemplates([join(folder, 'inner')]).read(name)).rejects.toMatchObject({
    code: 'not-found',
    repair: expect.stringContaining('flotilla templates'),
  })
})

test("an owner's template replaces a shipped one", async () => {
  const folder = await aFolder()
  const mine = withAgents(agent).replace('name: t', 'name: starter')
  await writeFile(join(folder, 'starter.yaml'), mine)
  expect((await createTemplates([folder, shipped]).read('starter')).description).toBe('d')
})

test('only permissions in the file are overrides', () => {
  const text = withAgents('{ id: a, role: r, instructions: i, permissions: { allowed_apis: [] } }')
  expect(parseTemplate('t', text).agents[0]?.permissions).toEqual({ allowed_apis: [] })
})

test.each([
  ['an unknown field', withAgents('{ id: a, role: r, instructions: i, shell: true }')],
  ['an unknown permission', withAgents('{ id: a, role: r, instructions: i, permissions: { root: true } }')],
  [
    'a permission of the wrong form',
    withAgents('{ id: a, role: r, instructions: i, permissions: { can_spawn: 1 } }'),
  ],
  ['two agents with the same id', withAgents(`${agent}\n  - ${agent}`)],
  ['an invalid id', withAgents('{ id: ../a, role: r, instructions: i }')],
  [
    'a budget out of range',
    withAgents('{ id: a, role: r, instructions: i, budget: { daily_usd: 0, monthly_usd: 1 } }'),
  ],
  [
    'an MCP server with a credential handle in the container',
    withAgents(
      '{ id: a, role: r, instructions: i, mcpServers: { s: { command: c, env: { K: $CRED{k} } } } }',
    ),
  ],
  ['no agents', 'name: t\ndescription: d\nagents: []\n'],
  ['a name that differs from its file', withAgents(agent).replace('name: t', 'name: u')],
  ['a duplicate key', withAgents(agent, 'name: t\n')],
  ['a syntax error', 'name: [t'],
  ['no YAML object', '- 1'],
  ['a code tag', withAgents('{ id: a, role: !!js/function "function(){}", instructions: i }')],
])('%s is rejected with the reason', (_name, text) => {
  expect(() => parseTemplate('t', text)).toThrow(expect.objectContaining({ code: 'unprocessable' }))
})

test('endless alias expansion is rejected', () => {
  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]']
  for (const [from, to] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg', 'gh', 'hi'].map((pair) => [
    pair[0],
    pair[1],
  ])) {
    bomb.push(`${to}: &${to} [${Array(9).fill(`*${from}`).join(',')}]`)
  }
  expect(() => parseTemplate('t', bomb.join('\n'))).toThrow(
    expect.objectContaining({ code: 'unprocessable' }),
  )
})

/** Small texts that are expensive for a parser: depth, repetition, length and special keys. */
const hostile: readonly (readonly [string, string])[] = [
  ['nested brackets', '['.repeat(100_000)],
  ['brackets on separate lines', '[\n'.repeat(100_000)],
  ['nested maps', '{a: '.repeat(50_000)],
  ['nested dashes', '- '.repeat(100_000)],
  ['nested question marks', '? '.repeat(100_000)],
  ['lists nested by indentation', Array.from({ length: 500 }, (_, at) => `${' '.repeat(at)}-`).join('\n')],
  ['maps nested by indentation', Array.from({ length: 500 }, (_, at) => `${' '.repeat(at)}a:`).join('\n')],
  ['endless aliases', Array.from({ length: 20_000 }, (_, at) => `a${at}: &x${at} 1`).join('\n')],
  ['an alias of itself', 'a: &a [*a]'],
  ['merges', `a: &a {x: 1}\n${'<<: *a\n'.repeat(5000)}`],
  ['an unclosed quote', `"${'a\n'.repeat(100_000)}`],
  ['many documents', '---\na: 1\n'.repeat(20_000)],
  ['a long text', 'x'.repeat(256 * 1024 + 1)],
  ['tags', `a: ${'!!str '.repeat(20_000)}x`],
  ['bytes', String.fromCharCode(0, 1, 2, 0xfffe).repeat(10_000)],
  ['a key with a special meaning', withAgents('{ id: a, role: r, instructions: i, __proto__: { x: 1 } }')],
  ['a path that leads out', withAgents("{ id: a, role: r, instructions: i, files: { '../x': y } }")],
  ['a hidden path', withAgents("{ id: a, role: r, instructions: i, files: { '.flotilla/x': y } }")],
  ['a skill in another folder', withAgents("{ id: a, role: r, instructions: i, skills: { '../x.js': y } }")],
  [
    'a webhook for an agent outside of the template',
    withAgents(agent, 'webhooks: [{ name: w, agent: operator }]\n'),
  ],
  [
    'a schedule for an agent outside of the template',
    withAgents(agent, "schedules: [{ id: s, agent: other, schedule: '* * * * *', message: m }]\n"),
  ],
]

test.each(hostile)('%s: the file is rejected without further effects', (_name, text) => {
  expect(() => parseTemplate(null, text)).toThrow(expect.objectContaining({ code: 'unprocessable' }))
})

test('the depth is checked before parsing, and sources within a file may be deep', () => {
  expect(isDeep('a: [[[1]]]')).toBe(false)
  expect(isDeep('- - - x')).toBe(false)
  expect(isDeep(`a: |\n  ${'if (x) { y([1, 2]) }\n  '.repeat(500)}`)).toBe(false)
  expect(isDeep('['.repeat(65))).toBe(true)
  expect(isDeep('- '.repeat(65))).toBe(true)
})

test('a file above the limit is not read', async () => {
  const folder = await aFolder()
  await writeFile(join(folder, 'long.yaml'), 'x'.repeat(2_000_000))
  await expect(createTemplates([folder]).read('long')).rejects.toMatchObject({ code: 'unprocessable' })
})
