import { spawnSync } from 'node:child_process'
import { stripTypeScriptTypes } from 'node:module'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { verifies } from '../../../../tests/verifies.ts'
import { createCheckInThread } from './check-in-thread.ts'
import { createSkillCheck } from './create-skill-check.ts'

const scout = { kind: 'agent', agentId: 'scout', token: 'door', run: null } as const
const source = `import { skill } from '@flotilla/skill'
export default skill('double', 'Doubles', { n: { type: 'number' } }, async ({ n }: { n: number }) => ({ twice: n * 2 }))
`

const checkSource = createCheckInThread()

describe('the check of a skill for an agent', () => {
  test('asks the guard before it reads anything', async () => {
    const read: string[] = []
    const check = createSkillCheck({
      guard: () => {
        throw new Problem('denied')
      },
      journal: collectJournal(),
      checkSource: async (text) => {
        read.push(text)
        return { ok: false, faults: [] }
      },
    })
    await expect(check(scout, { source: '' })).rejects.toMatchObject({ code: 'denied' })
    expect(read).toEqual([])
  })

  test('gives back the definition and JavaScript, and writes down what passed', async () => {
    verifies('resources:tool:create-skill-validated')
    const journal = collectJournal()
    const check = createSkillCheck({ guard: () => undefined, journal, checkSource })
    expect(await check(scout, { source })).toMatchObject({
      name: 'double',
      parameters: { n: { type: 'number' } },
      code: expect.not.stringContaining(': number'),
    })
    expect(journal.entries).toMatchObject([
      { actor: 'agent:scout', action: 'skill.checked', subject: 'double' },
    ])
  })

  test('refuses with every fault and its place', async () => {
    const check = createSkillCheck({ guard: () => undefined, journal: collectJournal(), checkSource })
    const bad = source.replace('n * 2', 'eval("n") * process.pid')
    await expect(check(scout, { source: bad })).rejects.toEqual(
      expect.objectContaining({
        code: 'skill-rejected',
        detail: expect.stringContaining('line 2: eval is refused'),
        extra: {
          faults: [
            expect.objectContaining({ line: 2, rule: 'forbidden-call' }),
            expect.objectContaining({ line: 2, rule: 'unknown-name' }),
          ],
        },
      }),
    )
  })

  test.each([
    ['brackets', '('.repeat(3000)],
    ['lists', '['.repeat(3000)],
    ['negations', `${'!'.repeat(3000)}1`],
    ['functions', `${'a=>'.repeat(3000)}1`],
    ['types', `let a: ${'A<'.repeat(3000)}`],
  ])(
    'refuses a source of too many %s within each other, and the next one is checked as ever',
    async (_of, deep) => {
      const check = createSkillCheck({ guard: () => undefined, journal: collectJournal(), checkSource })
      await expect(check(scout, { source: deep })).rejects.toMatchObject({ code: 'skill-rejected' })
      expect(await check(scout, { source })).toMatchObject({ name: 'double' })
      // What is left of the mesh's own thread, too.
      expect(stripTypeScriptTypes('let a: number = 1')).toBe('let a         = 1')
    },
  )

  test('lets twenty wait and no more, and those that wait are all answered', async () => {
    const checkOne = createCheckInThread()
    const asked = Array.from({ length: 21 }, () => checkOne('no skill'))
    const ends = await Promise.allSettled(asked)
    expect(ends.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 20 }, () => 'fulfilled'),
      'rejected',
    ])
    expect(ends[20]).toMatchObject({ reason: { code: 'rate-limited', retryAfterSeconds: 5 } })
    expect(await checkOne(source)).toMatchObject({ ok: true })
  })

  test('says nothing on standard error about what Node calls experimental', () => {
    const program = `import('${new URL('./javascript-of.ts', import.meta.url).href}').then(({ javascriptOf }) => {
      process.stdout.write(javascriptOf('let a: number = 1'))
      process.emitWarning('still heard')
    })`
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' })
    expect(stdout).toContain('let a         = 1')
    expect(stderr).toContain('still heard')
    expect(stderr).not.toContain('stripTypeScriptTypes')
  })
})
