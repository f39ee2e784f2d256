import { afterAll, beforeAll, expect, it } from 'vitest'
import { boundingCommand, nodeFlags } from '../../packages/agent/src/skills/run-skill.ts'
import { runnerSource } from '../../packages/agent/src/skills/runner-source.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { skillEscapes } from '../support/skill-escapes.ts'
import { canary, harmless, uncheckedCode } from '../support/try-escape.ts'
import { heedsLesson, verifies } from '../verifies.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const idle = aCassette({ when: 'nothing', turns: [says('Nothing.')] })
const nonce = 'word-of-two '
/** Every sixth, and each that the check cannot see. */
const share = skillEscapes.filter((escape, index) => index % 6 === 0 || escape.passesCheck)
const targets = { secretFile: '/data/secret', newFile: '/data/new', port: 8400 }

const skillOf = (name: string, body: string) => `import { skill } from '@flotilla/skill'
export default skill('${name}', 'From a test', {}, async (input, { mesh_client }) => { ${body} })`

withEngine(
  'skills in a container',
  () => {
    let mesh: MeshProcess

    beforeAll(async () => {
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { idle },
        environment: { FLOTILLA_NO_INSTALL: '1' },
      })
      await mesh.createWorker('clerk')
    })
    afterAll(() => mesh?.stop())

    const make = (name: string, body: string) =>
      mesh.invoke('clerk', 'create_skill', { name, code: skillOf(name, body) })

    it('are written, run, and have their results', async () => {
      verifies('purpose:skills:created-at-runtime')
      expect(await make('adds', `const n: number = 2; return { sum: n + 40 }`)).toMatchObject({
        state: 'done',
      })
      expect((await mesh.invoke('clerk', 'adds', {})).outcome?.result).toEqual({ sum: 42 })
    })

    it.each([
      ['loops', 'for (;;);', 'longer than 30 s'],
      ['hoards', 'const l = []; for (;;) l.push({ i: [l.length] })', 'more memory than 64 MB'],
      ['swells', 'const l = []; for (;;) l.push(new Uint8Array(5e7).fill(1))', 'allocation failed'],
    ])('that end in attacks on their bounds end alone (%s)', async (name, body, words) => {
      await make(name, body)
      const run = await mesh.invoke('clerk', name, {})
      expect(run).toMatchObject({ state: 'failed' })
      expect(run.outcome?.text).toContain(words)
      expect((await mesh.invoke('clerk', 'run_command', { command: 'echo alive' })).outcome?.text).toContain(
        'alive',
      )
    })

    it('that escape get nothing even where nobody checks them', async () => {
      heedsLesson(36)
      const orders = share.map((escape) =>
        JSON.stringify({ nonce, code: uncheckedCode(escape, targets), input: { x: 'x' } }),
      )
      await mesh.invoke('clerk', 'write_file', { path: 'secret', content: canary })
      await mesh.invoke('clerk', 'write_file', { path: 'runner', content: runnerSource })
      await mesh.invoke('clerk', 'write_file', { path: 'orders', content: `${orders.join('\n')}\n` })
      const one = `env -i bash -c '${boundingCommand}' "$node" ${nodeFlags.join(' ')} -e "$(cat runner)"`
      const command = `node=$(command -v node); while read -r order; do (printf '%s\\n' "$order"; sleep 1) | ${one} 2>&1 | cut -c1-400; done < orders; ls /data`
      const run = await mesh.invoke('clerk', 'run_command', { command, timeout_s: 200 })
      const said = run.outcome?.text ?? ''
      const ends = said
        .split('\n')
        .filter((line) => line.startsWith(nonce))
        .map((line) => line.slice(nonce.length))
      expect(ends, said).toHaveLength(share.length)
      for (const end of ends) {
        const failed = /^\{"type":"failed","words":"\w*Error/.test(end)
        const got = /^\{"type":"done","result":"\{(?:\\"got\\":\\"(.*?)\\")?/.exec(end)
        expect(failed || (got !== null && harmless.includes(got[1])), end).toBe(true)
      }
      expect(said).not.toContain(canary)
      expect(said).not.toMatch(/^new$/m)
    })
  },
  found,
)
