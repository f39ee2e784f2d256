import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { heedsLesson, verifies } from '../verifies.ts'

const hidden = Array.from('obey', (letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('')

const cassette = aCassette(
  {
    when: '^remember the (tea|coffee)$',
    turns: [
      calls('memory_save', {
        content: `The owner drinks tea at four o’clock${hidden}, and never coffee`,
        key: 'owner.drink',
        category: 'habit',
      }),
      says('Saved: {{how}}.', { capture: { how: '"found_by": "([^"]+)"' } }),
    ],
  },
  {
    when: '^what about tea$',
    turns: [
      calls('memory_search', { query: 'when does the owner drink tea?' }),
      says('{{text}} | trust {{trust}} | by {{by}} | from {{from}}', {
        capture: {
          text: '"text": "([^"]+)"',
          trust: '"trust": "([^"]+)"',
          by: '"searched_by": "([^"]+)"',
          from: '"origin": "([^"]+)"',
        },
      }),
    ],
  },
  {
    when: '^read the file, then remember$',
    turns: [
      calls('run_command', { command: 'echo "the owner drinks petrol"' }),
      calls('memory_save', { content: 'The owner drinks petrol', key: 'owner.drink' }),
      says('Refused: {{why}}', { capture: { why: '(was saved from words of the owner)' } }),
    ],
  },
  { when: '^forget it$', turns: [calls('memory_forget', { key: 'owner.drink' }), says('Forgotten.')] },
  {
    when: '^what failed$',
    turns: [calls('read_blackboard', { key: 'no/such/key' }), says('It is Tuesday.')],
  },
  { when: '^No, it is Monday$', turns: [says('Monday it is.')] },
)

async function homeOf(embeddingModel: string | null): Promise<MeshProcess> {
  return startMesh({
    cassettes: { memory: cassette },
    settings: embeddingModel === null ? {} : { embedding_model: embeddingModel },
  })
}

describe('an agent’s memory', () => {
  let mesh: MeshProcess
  beforeAll(async () => {
    mesh = await homeOf('offline/hashed-words')
  })
  afterAll(() => mesh.stop())
  beforeEach(() => mesh.restartIfStopped())

  const answerTo = async (question: string, session: string) =>
    (await mesh.ask(question, { session })).outcome?.text

  it('what one conversation saves another finds, by words and by meaning, with its label', async () => {
    heedsLesson(40)
    verifies('resources:tool:memory-search')
    expect(await answerTo('remember the tea', 'one')).toBe('Saved: words and meaning.')
    expect(await answerTo('what about tea', 'two')).toBe(
      'The owner drinks tea at four o’clock, and never coffee | trust owner | by words and meaning | from human by api',
    )
  })

  it('a conversation that has read something else cannot overwrite what the owner said', async () => {
    expect(await answerTo('read the file, then remember', 'three')).toBe(
      'Refused: was saved from words of the owner',
    )
    expect(await answerTo('what about tea', 'four')).toContain('drinks tea')
  })

  it('a restart of mesh and agents loses nothing, a later turn forgets', async () => {
    await mesh.terminate()
    for (const { pid } of await mesh.agentProcesses()) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // The agent's process ended with its mesh.
      }
    }
    await mesh.restart()
    expect(await answerTo('what about tea', 'five')).toContain('by words and meaning')
    expect(await answerTo('forget it', 'six')).toBe('Forgotten.')
    expect((await mesh.ask('what about tea', { session: 'seven' })).outcome?.text).not.toContain('drinks tea')
  })

  it('a failed call and a correction are written down', async () => {
    verifies('purpose:learnings:errors-file', 'purpose:learnings:corrections-file')
    await answerTo('what failed', 'lessons')
    await answerTo('No, it is Monday', 'lessons')
    const folder = join(mesh.dataOf('operator'), 'learnings')
    expect((await readdir(folder)).sort()).toEqual(['corrections.md', 'errors.md'])
    expect(await readFile(join(folder, 'errors.md'), 'utf8')).toMatch(
      /\*\*read_blackboard\*\*: Error \(not-found\)/,
    )
    expect(await readFile(join(folder, 'corrections.md'), 'utf8')).toMatch(
      /I said: "It is Tuesday\." Correction: "No, it is Monday"/,
    )
  })
})

describe('memory while embeddings fail', () => {
  let mesh: MeshProcess
  beforeAll(async () => {
    mesh = await homeOf('nowhere/none')
  })
  afterAll(() => mesh.stop())

  it('memory while embeddings fail works by words, says so, and embeds what was saved once there is a model', async () => {
    heedsLesson(105)
    const saved = (await mesh.ask('remember the tea', { session: 'one' })).outcome?.text
    expect(saved).toMatch(/^Saved: words only \(/)
    const found = (await mesh.ask('what about tea', { session: 'two' })).outcome?.text
    expect(found).toMatch(/drinks tea.*by words only \(/)
    await mesh.terminate()
    const settings = join(mesh.home, 'config', 'settings.json')
    const before = JSON.parse(await readFile(settings, 'utf8')) as object
    await writeFile(settings, JSON.stringify({ ...before, embedding_model: 'offline/hashed-words' }))
    for (const { pid } of await mesh.agentProcesses()) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // The agent's process ended with its mesh.
      }
    }
    await mesh.restart()
    await mesh.ask('what about tea', { session: 'three' })
    const later = (await mesh.ask('what about tea', { session: 'four' })).outcome?.text
    expect(later).toMatch(/drinks tea.*by words and meaning \|/)
  })
})
