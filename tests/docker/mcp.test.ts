import { join } from 'node:path'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { startMcpWebServer } from '../support/mcp-web-server.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import type { WebServer } from '../support/web-server.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()

withEngine(
  'MCP servers',
  () => {
    let mesh: MeshProcess
    let web: WebServer

    beforeAll(async () => {
      web = await startMcpWebServer()
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { idle: aCassette({ when: 'nothing', turns: [says('Nothing.')] }) },
        environment: { FLOTILLA_NO_INSTALL: '1' },
        settings: { egress: { allowed_private: [`127.0.0.1:${web.port}`] } },
      })
      await mesh.createWorker('clerk')
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
    })
    afterAll(async () => {
      await mesh?.stop()
      await web?.close()
    })

    const run = async (tool: string, input: object = {}) =>
      (await mesh.invoke('clerk', tool, input)).outcome?.text ?? ''

    it('of a container are a program inside it and one outside, reached through the mesh alone', async () => {
      expect(await run('add', { a: 40, b: 2 })).toBe('the sum is 42')
      expect(await run('echo', { text: 'hello' })).toBe('you said hello')
      const { servers } = JSON.parse(await run('mcp_servers')) as { servers: object[] }
      expect(servers).toMatchObject([
        { name: 'inside', state: 'running', protocol: '2026-07-28' },
        { name: 'outside', state: 'running', protocol: '2026-07-28' },
        // It may be tried again behind this run.
        {
          name: 'away',
          state: expect.stringMatching(/failed|starting/),
          detail: expect.stringContaining('redirect'),
        },
      ])
      // The container has no way to it but the mesh.
      const direct = await run('run_command', {
        command: `curl -s -m 2 --noproxy '*' http://127.0.0.1:${web.port}/mcp || echo no way`,
      })
      expect(direct).toContain('no way')
    })

    it('find no token of the door: in no file that they can read, no environment, and not under /briefing', async () => {
      const seen = JSON.parse(await run('environment')) as { own: Record<string, string>; cwd: string }
      expect(seen.cwd).toBe('/data')
      expect(Object.keys(seen.own).filter((name) => name.startsWith('FLOTILLA_'))).toEqual([])
      expect(await run('read', { path: '/briefing/door-token' })).toContain('ENOENT')
      expect(await run('read', { path: '/proc/1/environ' })).not.toMatch(/door.?token/i)
    })

    it('end with what they started when they are taken away', async () => {
      const alive = async () => run('run_command', { command: 'pgrep -fc "^node /data/server.cjs" || true' })
      expect(await alive()).toContain('1')
      await mesh.call(controlEndpoints.agentEdit, {
        params: { id: 'clerk' },
        body: { field: 'mcpServers', value: { set: {}, remove: ['inside', 'outside', 'away'] }, reason: '' },
      })
      await run('run_command', { command: 'sleep 3' })
      expect(await alive()).toMatch(/\n0/)
    })
  },
  found,
)
