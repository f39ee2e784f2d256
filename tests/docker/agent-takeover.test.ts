import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sandboxName } from '../../packages/mesh/src/sandbox/sandbox-spec.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()

withEngine(
  'a program in a container that wants its agent',
  (engine) => {
    let mesh: MeshProcess
    let homeId: string
    const container = () => engine.docker.getContainer(sandboxName(homeId, 'clerk'))

    beforeAll(async () => {
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { takeover: aCassette({ when: '.', turns: [says('Yes.')] }) },
        environment: { FLOTILLA_NO_INSTALL: '1' },
      })
      homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
      await mesh.createWorker('clerk')
      const program = await readFile(join(repositoryRoot, 'tests', 'support', 'takeover-program.mjs'))
      const put = await mesh.call(meshHumanEndpoints.fileWrite, {
        params: { id: 'clerk', path: 'takeover.mjs' },
        body: new Uint8Array(program),
        timeoutMs: 120_000,
      })
      if (put.status !== 200) throw new Error(put.text)
    })
    afterAll(() => mesh?.stop())

    const inside = async (command: string): Promise<string> => {
      const run = await mesh.invoke('clerk', 'run_command', { command, timeout_s: 240 })
      return `${run.outcome?.text} ${JSON.stringify(run.outcome?.result)}`
    }
    const attack = async (name: string): Promise<unknown> => {
      const run = await mesh.invoke('clerk', 'run_command', {
        command: `node /data/takeover.mjs ${name} 2>&1`,
        timeout_s: 240,
      })
      const said = `${run.outcome?.text} ${typeof run.outcome?.result === 'string' ? run.outcome.result : ''}`
      const seen = /SEEN (.*)/.exec(said)?.[1]
      if (seen === undefined) throw new Error(said)
      return JSON.parse(seen)
    }
    const restart = async () => {
      const reply = await mesh.call(meshHumanEndpoints.agentRestart, {
        params: { id: 'clerk' },
        timeoutMs: 120_000,
      })
      expect(reply.status, reply.text).toBe(200)
    }
    /** Of the agent's own process, as root on this machine sees it. */
    const agentFile = async (name: string) => {
      const top = await container().top({ ps_args: '-eo pid,args' })
      const row = (top.Processes as string[][]).find(
        ([, ...words]) => words.join(' ').startsWith('node ') && words.join(' ').includes('agent.cjs'),
      )
      return readFile(`/proc/${row?.[0]}/${name}`, 'utf8')
    }

    it('opens no inspector in it, by a signal to it, to its threads or to the first process', async () => {
      expect(await attack('inspector')).toEqual({
        agent: 'closed',
        alive: true,
        control: 'answered secret-of-the-control',
      })
    })

    it('starts it with nothing of its own, whatever it leaves where a start could look', async () => {
      expect(await attack('plant')).toEqual({
        '/etc/ld.so.preload': 'EROFS',
        '/etc/ld.so.cache': expect.stringMatching(/EROFS|EACCES/) as unknown,
        '/etc/environment': expect.stringMatching(/EROFS|EACCES/) as unknown,
        '/usr/local/etc/npmrc': expect.stringMatching(/EROFS|EACCES/) as unknown,
        '/briefing/door-token': expect.stringMatching(/EROFS|EACCES/) as unknown,
      })
      expect(await attack('plantedControls')).toEqual({
        env: 'listens',
        config: 'listens',
        options: 'listens',
        npm: 'listens',
        modules: '.node_modules/planted',
        preload: true,
      })
      await restart()
      // What is loaded at first use is loaded now.
      expect((await mesh.ask('say yes', { agent: 'clerk' })).outcome?.text).toBe('Yes.')
      await mesh.invoke('clerk', 'memory_search', { query: 'anything' })
      expect(await inside('cat /data/marks 2>&1')).toContain('No such file')
      // Its memory's database is mapped from there too; code is not.
      expect(await agentFile('maps')).not.toMatch(/ ..x. .*\/data\//)
      expect(await agentFile('environ')).not.toMatch(/NODE_OPTIONS=-|LD_PRELOAD=\/|inspect/)
      expect(await agentFile('cmdline')).toContain('--disable-sigusr1')
    })

    it('cannot give it other code through its compile cache', async () => {
      const seen = await attack('cache')
      expect(seen).toMatchObject({ control: 'evil', outcomes: ['EROFS'] })
      expect(seen).not.toMatchObject({ files: 0 })
    })

    it('cannot change its bundle, its parts or its Node', async () => {
      const seen = await attack('bundle')
      expect(seen).toMatchObject({
        files: expect.arrayContaining(['/opt/flotilla/agent.cjs', '/opt/flotilla/late.cjs']) as unknown,
        control: 'done',
      })
      const { outcomes } = seen as { outcomes: readonly string[] }
      expect(outcomes.toSorted()).toEqual(expect.not.arrayContaining(['done']))
    })

    it('gets nothing of it out of /proc', async () => {
      expect(await attack('handles')).toEqual({
        agent: {
          memory: 'PermissionError',
          written: 'PermissionError',
          environment: 'PermissionError',
          descriptors: 'PermissionError',
          steal: 'PermissionError',
          folder: 'PermissionError',
          'killed first': 'PermissionError',
        },
        control: {
          memory: 'found',
          written: 'found',
          environment: 'read',
          descriptors: 'listed',
          steal: 'held file',
          folder: 'entered',
          'killed first': 'written',
        },
        // Of the container, which its engine put there.
        first: 'EROFS',
      })
    })

    it('finds one door of it, which asks for proof', async () => {
      expect(await attack('sockets')).toEqual({
        ports: [8400],
        named: 0,
        control: { ports: [9999], named: 1 },
        answers: [200, 401, 401],
      })
    })
  },
  found,
)
