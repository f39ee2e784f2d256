import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { runCommand } from '../../packages/fleet/src/sandbox/run-command.ts'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'
import { guardedNode } from '../../packages/fleet/src/sandbox/hardening/container-options.ts'

const found = await engineOfThisMachine()

withEngine(
  'a program in a container that wants its agent',
  (engine) => {
    let mesh: MeshProcess
    let homeId: string
    let stuck: { readonly run: string; readonly container: string }
    const container = (agent = 'clerk') => engine.docker.getContainer(sandboxName(homeId, agent))

    beforeAll(async () => {
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: {
          takeover: aCassette(
            {
              when: 'dig',
              turns: [calls('run_command', { command: 'sleep 200', timeout_s: 300 }), says('Yes.')],
            },
            { when: '.', turns: [says('Yes.')] },
          ),
        },
        environment: { FLOTILLA_NO_INSTALL: '1' },
      })
      homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
      for (const id of ['clerk', 'digger']) await mesh.createWorker(id)
      const program = await readFile(join(repositoryRoot, 'tests', 'support', 'takeover-program.mjs'))
      const put = await mesh.call(meshHumanEndpoints.fileWrite, {
        params: { id: 'clerk', path: 'takeover.mjs' },
        body: new Uint8Array(program),
        timeoutMs: patient(120_000),
      })
      if (put.status !== 200) throw new Error(put.text)
      stuck = await diskFails()
    })
    afterAll(() => mesh?.stop())
    beforeEach(() => mesh.restartIfStopped())

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
        timeoutMs: patient(120_000),
      })
      expect(reply.status, reply.text).toBe(200)
    }
    /** Process id of the agent as root on this machine sees it. */
    const agentPid = async (agent = 'clerk') => {
      const top = await container(agent).top({ ps_args: '-eo pid,args' })
      const row = (top.Processes as string[][]).find(
        ([, ...words]) =>
          words.join(' ').startsWith(guardedNode.join(' ')) && words.join(' ').includes('agent.cjs'),
      )
      return row?.[0] ?? ''
    }
    const agentFile = async (name: string) => readFile(`/proc/${await agentPid()}/${name}`, 'utf8')
    /**
     * Remounts a folder read-only in the middle of a run, as a failing disk does; no process inside can undo it.
     */
    const diskFails = async () => {
      const run = await mesh.submit('dig', { agent: 'digger' })
      await eventually('the tool runs', async () =>
        // The failure begins once the command runs.
        JSON.stringify(
          await container('digger')
            .top()
            .catch(() => null),
        ).includes('sleep 200'),
      )
      const before = (await container('digger').inspect()).Id
      // A folder inside /data; the health check looks at /data itself.
      const state = '/data/.flotilla'
      const remount = `mount --bind ${state} ${state} && mount -o remount,bind,ro ${state}`
      const asHost = ['-t', await agentPid('digger'), '-m', 'sh', '-c', remount]
      const done = await runCommand('nsenter', asHost, { timeoutMs: patient(20_000) })
      if (done.code !== 0) throw new Error(done.stderr)
      return { run, container: before }
    }

    it('a hostile program in a container opens no inspector in it, by a signal to it, to its threads or to the first process', async () => {
      expect(await attack('inspector')).toEqual({
        agent: 'closed',
        alive: true,
        control: 'answered secret-of-the-control',
      })
    })

    it('a hostile program in a container starts it with nothing of its own, whatever it leaves where a start could look', async () => {
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
      // Makes the agent load the modules that it loads at first use.
      expect((await mesh.ask('say yes', { agent: 'clerk' })).outcome?.text).toBe('Yes.')
      await mesh.invoke('clerk', 'memory_search', { query: 'anything' })
      expect(await inside('cat /data/marks 2>&1')).toContain('No such file')
      // The database of its memory is mapped from /data, too, but no code is.
      expect(await agentFile('maps')).not.toMatch(/ ..x. .*\/data\//)
      expect(await agentFile('environ')).not.toMatch(/NODE_OPTIONS=-|LD_PRELOAD=\/|inspect/)
      expect(await agentFile('cmdline')).toContain('--disable-sigusr1')
    })

    it('a hostile program in a container cannot give it other code through its compile cache', async () => {
      const seen = await attack('cache')
      expect(seen).toMatchObject({ control: 'evil', outcomes: ['EROFS'] })
      expect(seen).not.toMatchObject({ files: 0 })
    })

    it('a hostile program in a container cannot change its bundle, its parts or its Node', async () => {
      const seen = await attack('bundle')
      expect(seen).toMatchObject({
        files: expect.arrayContaining(['/opt/flotilla/agent.cjs', '/opt/flotilla/late.cjs']) as unknown,
        control: 'done',
      })
      const { outcomes } = seen as { outcomes: readonly string[] }
      expect(outcomes.toSorted()).toEqual(expect.not.arrayContaining(['done']))
    })

    it('a hostile program in a container gets nothing of it out of /proc', async () => {
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
        // The program of the first process, which the engine puts into the container.
        first: 'EROFS',
      })
    })

    it('a hostile program in a container finds one API of it, which asks for proof', async () => {
      expect(await attack('sockets')).toEqual({
        ports: [8400],
        named: 0,
        control: { ports: [9999], named: 1 },
        answers: [200, 401, 401],
      })
    })

    // This test is the last: the others run during the two minutes until the mesh notices the failure.
    it(
      'a hostile program in a container is cut off with its agent where that can write nothing more, though its server answers',
      async () => {
        expect(await mesh.ended(stuck.run, 400_000)).toMatchObject({ state: 'done', attempt: 2 })
        expect((await container('digger').inspect()).Id).not.toBe(stuck.container)
        expect(hungReasons(mesh.home)).toEqual([
          'the agent reported no progress of the run for 120 s, although its server answers',
        ])
      },
      patient(420_000),
    )
  },
  found,
)

function hungReasons(home: string): readonly unknown[] {
  const database = new DatabaseSync(join(home, 'data', 'mesh.db'), { readOnly: true })
  const rows = database
    .prepare("SELECT json_extract(detail, '$.reason') AS reason FROM journal WHERE action = 'agent.hung'")
    .all()
  database.close()
  return rows.map((row) => row['reason'])
}
