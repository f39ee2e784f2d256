import { spawnSync } from 'node:child_process'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { verifies } from '../../../../tests/verifies.ts'
import { createSkillCheck } from './create-skill-check.ts'

const scout = { kind: 'agent', agentId: 'scout', token: 'door', run: null } as const
const source = `import { skill } from '@flotilla/skill'
export default skill('double', 'Doubles', { n: { type: 'number' } }, async ({ n }: { n: number }) => ({ twice: n * 2 }))
`

describe('the check of a skill for an agent', () => {
  test('asks the guard before it reads anything', () => {
    const check = createSkillCheck({
      guard: () => {
        throw new Problem('denied')
      },
      journal: collectJournal(),
    })
    expect(() => check(scout, { source: '' })).toThrow(expect.objectContaining({ code: 'denied' }))
  })

  test('gives back the definition and JavaScript, and writes down what passed', () => {
    verifies('resources:tool:create-skill-validated')
    const journal = collectJournal()
    const check = createSkillCheck({ guard: () => undefined, journal })
    expect(check(scout, { source })).toMatchObject({
      name: 'double',
      parameters: { n: { type: 'number' } },
      code: expect.not.stringContaining(': number'),
    })
    expect(journal.entries).toMatchObject([
      { actor: 'agent:scout', action: 'skill.checked', subject: 'double' },
    ])
  })

  test('refuses with every fault and its place', () => {
    const check = createSkillCheck({ guard: () => undefined, journal: collectJournal() })
    const bad = source.replace('n * 2', 'eval("n") * process.pid')
    expect(() => check(scout, { source: bad })).toThrow(
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
