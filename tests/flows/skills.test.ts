import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { startMeshForTest } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'

const counting = `import { skill } from '@flotilla/skill'
export default skill('count_words', 'Counts the words of a text', {
  text: { type: 'string', description: 'Any text' },
}, async ({ text }: { text: string }, { mesh_client }) => {
  const words: number = text.split(' ').length
  await mesh_client.write_blackboard({ key: 'output/words', value: words })
  const kept = await mesh_client.read_blackboard({ key: 'output/words' })
  return { words, kept: kept.value }
})
`
const cassette = aCassette(
  {
    when: '^learn$',
    turns: [
      calls('create_skill', { name: 'count_words', code: counting }),
      calls('count_words', { text: 'one two three' }),
      says('Counted {{words}}.', { capture: { words: '"words": (\\d+)' } }),
    ],
  },
  {
    when: '^count$',
    turns: [
      calls('count_words', { text: 'a b c d e' }),
      says('There are {{words}}.', { capture: { words: '"words": (\\d+)' } }),
    ],
  },
  {
    when: '^cheat$',
    turns: [
      calls('create_skill', {
        name: 'cheat',
        code: counting.replace('count_words', 'cheat').replace("text.split(' ').length", 'process.pid'),
      }),
      says('Refused: {{why}}', { capture: { why: '(line 5, column \\d+ .unknown-name.: process)' } }),
    ],
  },
)

describe('an agent', () => {
  it('an agent writes a skill and uses it at once, in its next run, and after a restart', async () => {
    verifies(
      'purpose:skills:created-at-runtime',
      'purpose:skills:hot-reloaded',
      'resources:tool:create-skill',
      'resources:skill:discovered',
    )
    const mesh = await startMeshForTest({ cassettes: { skills: cassette } })
    await mesh.createWorker('left')
    const say = async (text: string) => mesh.ended(await mesh.submit(text, { agent: 'left' }))
    expect((await say('learn')).outcome?.text).toBe('Counted 3.')
    expect((await say('count')).outcome?.text).toBe('There are 5.')
    expect((await say('cheat')).outcome?.text).toMatch(/^Refused: line 5/)
    expect(await readFile(`${mesh.dataOf('left')}/skills/count_words.ts`, 'utf8')).toBe(counting)
    await mesh.terminate()
    await mesh.restart()
    expect((await say('count')).outcome?.text).toBe('There are 5.')
    expect(mesh.log()).not.toContain('ExperimentalWarning')
  })
})
