import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { heartbeatApi, heartbeatEndpoints } from '@flotilla/protocol/heartbeat-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { build } from 'esbuild'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { boundingCommand, nodeFlags } from '../../packages/agent/src/skills/run-skill.ts'
import { runnerSource } from '../../packages/agent/src/skills/runner-source.ts'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { startMcpWebServer } from '../support/mcp-web-server.ts'
import { eventually } from '../support/eventually.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { skillEscapes } from '../support/skill-escapes.ts'
import { canary, harmless, uncheckedCode } from '../support/try-escape.ts'
import type { WebServer } from '../support/web-server.ts'
import { heedsLesson, verifies } from '../verifies.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const cassette = aCassette(
  {
    when: 'disk_usage: \\d',
    turns: [says('The disk is at {{percent}} percent.', { capture: { percent: 'disk_usage: (\\d+)' } })],
  },
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
const nonce = 'word-of-two '
/** Every sixth skill, and each that passes the source check. */
const share = skillEscapes.filter((escape, index) => index % 6 === 0 || escape.passesCheck)
const targets = { secretFile: '/data/secret', newFile: '/data/new', port: 8400 }

const skillOf = (name: string, body: string) => `import { skill } from '@flotilla/skill'
export default skill('${name}', 'From a test', {}, async (input, { mesh_client }) => { ${body} })`

/** The tests share one mesh: each container start costs a second of CPU time, and each mesh start four. */
withEngine(
  'an agent in a container',
  (engine) => {
    let mesh: MeshProcess
    let web: WebServer

    beforeAll(async () => {
      web = await startMcpWebServer()
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { means: cassette },
        environment: { FLOTILLA_NO_INSTALL: '1' },
        settings: {
          data_limit_mb: 64,
          embedding_model: 'offline/hashed-words',
          egress: { allowed_private: [`127.0.0.1:${web.port}`] },
        },
      })
      await mesh.createWorker('clerk')
    })
    afterAll(async () => {
      await mesh?.stop()
      await web?.close()
    })
    beforeEach(() => mesh.restartIfStopped())

    describe('that looks around by itself', () => {
      async function heartbeat() {
        const reply = await mesh.call(heartbeatEndpoints.heartbeatRun, {
          params: { id: 'clerk' },
          body: { if_needed: true },
          timeoutMs: patient(120_000),
        })
        return heartbeatApi.heartbeatRun.response.parse(reply.json())
      }
      /**
       * Fills the agent's volume with a file of this size; prints the used share as programs of the agent see it.
       */
      const keep = (megabytes: number) =>
        mesh.invoke('clerk', 'run_command', {
          command: `head -c ${megabytes}M /dev/urandom > /data/parcel; sync; df --output=pcent /data | tail -1`,
          timeout_s: 60,
        })

      it('an agent that looks around by itself wakes it when its own disk is above 85 percent, and not below', async () => {
        verifies('limits:disk-probe', 'events:heartbeat:probe-disk-usage')
        await keep(40)
        expect(await heartbeat()).toEqual({ skipped: 'nothing-to-do', run: null })
        await keep(60)
        const { run } = await heartbeat()
        expect(run?.outcome?.text).toMatch(/^The disk is at (8[6-9]|9\d|100) percent\.$/)
        await keep(1)
        expect(await heartbeat()).toEqual({ skipped: 'nothing-to-do', run: null })
      })
    })

    describe('that writes skills', () => {
      const make = (name: string, body: string) =>
        mesh.invoke('clerk', 'create_skill', { name, code: skillOf(name, body) })

      it('the skills of an agent in a container are written, run, and have their results', async () => {
        verifies('purpose:skills:created-at-runtime')
        expect(await make('adds', `const n: number = 2; return { sum: n + 40 }`)).toMatchObject({
          state: 'done',
        })
        expect((await mesh.invoke('clerk', 'adds', {})).outcome?.result).toEqual({ sum: 42 })
      })

      it.each([
        ['loops', 'for (;;);', /longer than 30 s/],
        // A slow processor collects garbage until the time is over.
        [
          'hoards',
          'const l = []; for (;;) l.push({ i: [l.length] })',
          /more memory than 64 MB|longer than 30 s/,
        ],
        ['swells', 'const l = []; for (;;) l.push(new Uint8Array(5e7).fill(1))', /allocation failed/],
      ])(
        'the skills of an agent in a container that end in attacks on their bounds end alone (%s)',
        async (name, body, words) => {
          await make(name, body)
          const run = await mesh.invoke('clerk', name, {})
          expect(run).toMatchObject({ state: 'failed' })
          expect(run.outcome?.text).toMatch(words)
          expect(
            (await mesh.invoke('clerk', 'run_command', { command: 'echo alive' })).outcome?.text,
          ).toContain('alive')
        },
      )

      it('skills that escape get nothing even if nothing checks them', async () => {
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
    })

    describe('that has MCP servers', () => {
      beforeAll(async () => {
        const { outputFiles } = await build({
          entryPoints: [join(repositoryRoot, 'tests', 'support', 'mcp-program.mjs')],
          bundle: true,
          platform: 'node',
          format: 'cjs',
          write: false,
          logLevel: 'silent',
        })
        await mesh.call(meshHumanEndpoints.fileWrite, {
          params: { id: 'clerk', path: 'server.cjs' },
          body: new Uint8Array(outputFiles[0]?.contents ?? []),
        })
        const set = {
          inside: { command: 'node', args: ['/data/server.cjs', 'plain'], startupTimeoutMs: 60_000 },
          outside: { url: `http://127.0.0.1:${web.port}/mcp`, startupTimeoutMs: 60_000 },
          away: { url: `http://127.0.0.1:${web.port}/away` },
        }
        const reply = await mesh.call(controlEndpoints.agentEdit, {
          params: { id: 'clerk' },
          body: { field: 'mcpServers', value: { set, remove: [] }, reason: '' },
        })
        if (reply.status !== 200) throw new Error(reply.text)
        await eventually(
          'both servers run',
          async () => (await run('mcp_servers')).match(/"running"/g)?.length === 2,
        )
      }, patient(120_000))

      const run = async (tool: string, input: object = {}) =>
        (await mesh.invoke('clerk', tool, input)).outcome?.text ?? ''

      it('the MCP servers of a container are a program inside it and one outside, reached only through the mesh', async () => {
        expect(await run('add', { a: 40, b: 2 })).toBe('the sum is 42')
        expect(await run('echo', { text: 'hello' })).toBe('you said hello')
        const { servers } = JSON.parse(await run('mcp_servers')) as { servers: object[] }
        expect(servers).toMatchObject([
          { name: 'inside', state: 'running', protocol: '2026-07-28' },
          { name: 'outside', state: 'running', protocol: '2026-07-28' },
          // The second attempt to start the server may already run.
          {
            name: 'away',
            state: expect.stringMatching(/failed|starting/),
            detail: expect.stringContaining('redirect'),
          },
        ])
        // Only the mesh can connect the agent to the server; the container cannot.
        const direct = await run('run_command', {
          command: `curl -s -m 2 --noproxy '*' http://127.0.0.1:${web.port}/mcp || echo no way`,
        })
        expect(direct).toContain('no way')
      })

      it('programs in a container find no agent token: in no file that they can read, no environment, and not under /briefing', async () => {
        const seen = JSON.parse(await run('environment')) as { own: Record<string, string>; cwd: string }
        expect(seen.cwd).toBe('/data')
        expect(Object.keys(seen.own).filter((name) => name.startsWith('FLOTILLA_'))).toEqual([])
        expect(await run('read', { path: '/briefing/door-token' })).toContain('ENOENT')
        expect(await run('read', { path: '/proc/1/environ' })).not.toMatch(/door.?token/i)
      })

      it('end with what they started when they are taken away', async () => {
        const alive = async () =>
          run('run_command', { command: 'pgrep -fc "^node /data/server.cjs" || true' })
        expect(await alive()).toContain('1')
        await mesh.call(controlEndpoints.agentEdit, {
          params: { id: 'clerk' },
          body: {
            field: 'mcpServers',
            value: { set: {}, remove: ['inside', 'outside', 'away'] },
            reason: '',
          },
        })
        await run('run_command', { command: 'sleep 3' })
        expect(await alive()).toMatch(/\n0/)
      })
    })

    describe('that remembers', () => {
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
    })
  },
  found,
)
