import { spawnSync } from 'node:child_process'
import { stripTypeScriptTypes } from 'node:module'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { patient } from '../../../../tests/support/patience.ts'
import { verifies } from '../../../../tests/verifies.ts'
import { createCheckInThread } from './check-in-thread.ts'
import { startCheckThread } from './check-thread.ts'
import { createSkillCheck } from './create-skill-check.ts'

const scout = { kind: 'agent', agentId: 'scout', token: 'door', run: null } as const
const source = `import { skill } from '@flotilla/skill'
export default skill('double', 'Doubles', { n: { type: 'number' } }, async ({ n }: { n: number }) => ({ twice: n * 2 }))
`

const checkSource = createCheckInThread()

describe('the check of a skill for an agent', () => {
  test('the check of a skill for an agent asks the guard before it reads anything', async () => {
    const read: string[] = []
    const check = createSkillCheck({
      guard: () => {
        throw new Problem('denied')
      },
      journal: collectJournal(),
      checkSource: async (_agentId, text) => {
        read.push(text)
        return { ok: false, faults: [] }
      },
    })
    await expect(check(scout, { source: '' })).rejects.toMatchObject({ code: 'denied' })
    expect(read).toEqual([])
  })

  test('the check of a skill for an agent gives back the definition and JavaScript, and writes down what passed', async () => {
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

  test('the check of a skill for an agent refuses with every fault and its place', async () => {
    const check = createSkillCheck({ guard: () => undefined, journal: collectJournal(), checkSource })
    const bad = source.replace('n * 2', 'eval("n") * process.pid')
    await expect(check(scout, { source: bad })).rejects.toEqual(
      expect.objectContaining({
        code: 'skill-rejected',
        detail: expect.stringContaining('line 2: eval is not allowed in a skill'),
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
      // The main thread of the mesh still works, too.
      expect(stripTypeScriptTypes('let a: number = 1')).toBe('let a         = 1')
    },
  )

  test('the check of a skill for an agent lets two of an agent wait and no more, and all that wait are answered', async () => {
    const checkOne = createCheckInThread()
    const ends = await Promise.allSettled(Array.from({ length: 3 }, () => checkOne('scout', 'no skill')))
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
    expect(ends[2]).toMatchObject({ reason: { code: 'rate-limited', retryAfterSeconds: 5 } })
    expect(await checkOne('scout', source)).toMatchObject({ ok: true })
  })

  test('the check of a skill for an agent has room for every agent, and checks its source in its turn, whatever others ask for', async () => {
    const checkOne = createCheckInThread()
    const ended: string[] = []
    const greedy = Array.from({ length: 60 }, (_, number) => `agent ${number % 10}`)
    const asked = Promise.allSettled(
      greedy.map(async (agent) => {
        await checkOne(agent, 'no skill')
        ended.push(agent)
      }),
    )
    expect(await checkOne('scout', source)).toMatchObject({ ok: true })
    // One check of each agent that requested one before, and no second one of any agent.
    expect(ended.length).toBeLessThanOrEqual(10)
    const ends = await asked
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(20)
  })

  test('the check of a skill for an agent gives up a source that no thread gets through, and reads the next one', async () => {
    const checkOne = createCheckInThread(() => startCheckThread(patient(300)))
    const endless = `let x = ${'<T>('.repeat(30)}b${')'.repeat(30)}`
    const [held, next] = await Promise.all([checkOne('scout', endless), checkOne('ann', source)])
    expect(held).toMatchObject({ ok: false, faults: [{ rule: 'syntax' }] })
    expect(next).toMatchObject({ ok: true })
  })

  test('the check of a skill for an agent fails by itself where no thread can be had, and does not call that a fault of the source', async () => {
    let starts = 0
    const checkOne = createCheckInThread(() => {
      starts += 1
      if (starts === 1) throw new Error('no thread can be made')
      return startCheckThread()
    })
    await expect(checkOne('scout', source)).rejects.toThrow('no thread can be made')
    expect(await checkOne('scout', source)).toMatchObject({ ok: true })
    expect(await checkOne('scout', source)).toMatchObject({ ok: true })
    // The thread is kept for the next source until it has met a source that it could not parse.
    expect(starts).toBe(2)
    await checkOne('scout', 'let a: (')
    await checkOne('scout', source)
    expect(starts).toBe(3)
  })

  test('the check of a skill for an agent says nothing on standard error about what Node calls experimental', () => {
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
