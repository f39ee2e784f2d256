import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { sandboxName } from '../../packages/mesh/src/sandbox/sandbox-spec.ts'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()

const cassette = aCassette(
  {
    when: '^remember$',
    turns: [
      calls('memory_save', { content: 'The owner drinks tea at four', key: 'owner.drink' }),
      says('Saved: {{how}}.', { capture: { how: '"found_by": "([^"]+)"' } }),
    ],
  },
  {
    when: '^recall$',
    turns: [
      calls('memory_search', { query: 'when does the owner drink tea?' }),
      says('{{text}} by {{by}}', { capture: { text: '"text": "([^"]+)"', by: '"searched_by": "([^"]+)"' } }),
    ],
  },
)

withEngine(
  'memory in containers',
  (engine) => {
    let mesh: MeshProcess
    beforeAll(async () => {
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { memory: cassette },
        environment: { FLOTILLA_NO_INSTALL: '1' },
        settings: { embedding_model: 'offline/hashed-words' },
      })
    })
    afterAll(() => mesh?.stop())
    beforeEach(() => mesh.standUp())

    it('the vector search loads under the walls, in 128 MB, and the volume keeps what was saved', async () => {
      const answer = async (question: string, session: string) =>
        (await mesh.ask(question, { session })).outcome?.text
      expect(await answer('remember', 'one')).toBe('Saved: words and meaning.')
      expect(await answer('recall', 'two')).toBe('The owner drinks tea at four by words and meaning')
      const homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
      const container = engine.docker.getContainer(sandboxName(homeId, 'operator'))
      expect((await container.inspect()).State.OOMKilled).toBe(false)
      await mesh.terminate()
      await container.remove({ force: true })
      await mesh.restart()
      expect(await answer('recall', 'three')).toBe('The owner drinks tea at four by words and meaning')
    })
  },
  found,
)
