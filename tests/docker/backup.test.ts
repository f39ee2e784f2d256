import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fillPath } from '@flotilla/protocol/endpoint'
import { headers } from '@flotilla/protocol/headers'
import { meshInternalEndpoints } from '@flotilla/protocol/mesh-internal-api'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { openMesh, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { meshProgram } from '../support/programs.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const cassette = aCassette({
  agents: ['keeper', 'sleeper'],
  when: '^keep$',
  turns: [
    calls('memory_save', { content: 'The owner drinks tea at four', key: 'owner.drink' }),
    runs('mkdir made && echo kept > made/note && ln -s /usr/bin/env made/link && chmod 750 made'),
    says('Kept.'),
  ],
})

const oddName = `Buffer.concat([Buffer.from('a'.repeat(80)), Buffer.alloc(9, 255), Buffer.from('18 size=999999999')])`
const readOddName = `console.log('odd ' + require('fs').readFileSync(${oddName}))`
/** The size of each of two files without content. The engine reads them whole, which takes minutes a gigabyte. */
const sparseBytes = (process.env['FLOTILLA_SOAK'] === '1' ? 1024 : 256) * 1024 * 1024
/** Files of an agent, some of which a backup stores and some of which it refuses. */
const hostileFiles = [
  'mkfifo pipe',
  'ln -s ../../../../etc/passwd up && ln -s /etc/passwd away && ln -s nowhere dangling',
  'echo one > first && ln first linked',
  `truncate -s ${sparseBytes} holes && truncate -s ${sparseBytes} more-holes`,
  `node -e ${JSON.stringify(
    `const fs = require('fs'); fs.writeFileSync(${oddName}, 'kept'); fs.writeFileSync('new\\nline', ''); fs.writeFileSync('back\\\\slash', ''); fs.writeFileSync('x'.repeat(255), ''); fs.mkdirSync('deep'); process.chdir('deep'); for (let i = 0; i < 2500; i++) { fs.mkdirSync('d'); process.chdir('d') }`,
  )}`,
  'echo secret > closed && chmod 000 closed && touch -d @-5 old && touch -d @9000000000 later && chmod 6755 first',
  'echo filled',
].join(' ; ')

withEngine(
  'a backup of volumes',
  (engine) => {
    let mesh: MeshProcess
    let folder: string
    const passphrase = 'a long sentence that nobody guesses'
    const options = {
      runtime: 'docker',
      cassettes: { talk: cassette },
      environment: { FLOTILLA_NO_INSTALL: '1' },
    } as const
    const closed = () => ['--passphrase-file', join(folder, 'passphrase')]
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'flotilla-backups-'))
      await writeFile(join(folder, 'passphrase'), `${passphrase}\n`)
      mesh = await startMesh(options)
      for (const agent of ['keeper', 'sleeper']) {
        await mesh.createWorker(agent)
        await mesh.ask('keep', { agent })
      }
      const stopped = await containerOf(mesh, 'sleeper')
      await stopped.stop()
    })
    afterAll(async () => {
      await mesh?.stop()
      await rm(folder, { recursive: true, force: true })
    })

    async function containerOf(of: MeshProcess, agent: string) {
      const homeId = (await readFile(join(of.home, 'data', 'home-id'), 'utf8')).trim()
      return engine.docker.getContainer(sandboxName(homeId, agent))
    }

    const stateOf = async (agent: string) => (await (await containerOf(mesh, agent)).inspect()).State

    it('a backup of volumes has what agents keep in volumes, of those that work and of those that rest', async () => {
      const file = join(folder, 'volumes')
      const made = await flotilla({ home: mesh.home }, 'backup', file, ...closed())
      expect(made.code, made.err).toBe(0)
      expect(await stateOf('keeper')).toMatchObject({ Running: true, Paused: false })
      const home = join(folder, 'restored')
      const restored = await flotilla({ home }, 'restore', file, ...closed())
      expect(restored.code, restored.err).toBe(0)
      const again = openMesh(home, options)
      try {
        await again.restart()
        for (const agent of ['keeper', 'sleeper']) {
          const recalled = await again.invoke(agent, 'memory_search', { query: 'tea' })
          expect(JSON.stringify(recalled.outcome)).toContain('drinks tea at four')
          const seen = await again.invoke(agent, 'run_command', {
            command: 'cat made/note; readlink made/link; stat -c "%a %u" made; echo more >> made/note',
          })
          expect(JSON.stringify(seen.outcome)).toContain(String.raw`kept\n/usr/bin/env\n750 1000`)
        }
      } finally {
        await again.stop()
      }
    })

    it('a backup of a fleet with a hostile agent is complete, names what it skipped, and restores the other agents byte for byte', async () => {
      await mesh.createWorker('hostile')
      const filled = await mesh.invoke('hostile', 'run_command', { command: hostileFiles })
      expect(JSON.stringify(filled.outcome)).toContain('filled')
      const filesOf = async (of: MeshProcess) => {
        const seen = await of.invoke('keeper', 'run_command', {
          command:
            'cd made && find . -type f -exec sha256sum {} + | sort; readlink link; stat -c "%a %u %g" .',
        })
        return JSON.stringify(seen.outcome)
      }
      const before = await filesOf(mesh)
      expect(before).toContain('./note')
      const file = join(folder, 'hostile')
      const made = await flotilla({ home: mesh.home }, 'backup', file, ...closed())
      expect(made.code, made.err).toBe(0)
      for (const named of [
        'pipe: a named pipe',
        'up: a symbolic link that leads upwards',
        'entries of the data of hostile',
      ])
        expect(`${made.out}${made.err}`).toContain(named)
      expect((await stat(file)).size).toBeLessThan(256 * 1024 * 1024)
      const verified = await flotilla({ home: mesh.home }, 'verify', file, ...closed())
      expect(verified.code, verified.err).toBe(0)
      const home = join(folder, 'after-hostile')
      const restored = await flotilla({ home }, 'restore', file, ...closed())
      expect(restored.code, restored.err).toBe(0)
      expect(`${restored.out}${restored.err}`).not.toContain('The data of')
      const again = openMesh(home, options)
      try {
        await again.restart()
        expect(await filesOf(again)).toBe(before)
        const odd = await again.invoke('hostile', 'run_command', {
          command: `node -e ${JSON.stringify(readOddName)}; stat -c %s holes; stat -c %h linked; ls deep | head -1`,
        })
        expect(JSON.stringify(odd.outcome)).toContain(String.raw`odd kept\n${sparseBytes}\n2\nd`)
      } finally {
        await again.stop()
      }
    })

    it('an agent can go on while most of its data is still to be read', async () => {
      await mesh.createWorker('large')
      await mesh.invoke('large', 'run_command', { command: 'head -c 96M /dev/urandom > much' })
      const data = await readingOf('large')
      const [first] = await once(data, 'readable').then(() => [data.read(1024) as Buffer])
      expect(first?.length).toBe(1024)
      expect(await stateOf('large')).toMatchObject({ Running: true, Paused: true })
      await (await containerOf(mesh, 'large')).unpause()
      expect(await stateOf('large')).toMatchObject({ Running: true, Paused: false })
      // What becomes shorter now ends the engine's archive early, in order.
      await mesh.invoke('large', 'run_command', { command: 'truncate -s 1M much' })
      let bytes = 0
      for await (const piece of data) bytes += (piece as Buffer).length
      expect(data.complete).toBe(true)
      expect(bytes).toBeLessThan(96 * 1024 * 1024)
    })

    async function readingOf(agent: string): Promise<IncomingMessage> {
      const { port } = JSON.parse(await readFile(join(mesh.home, 'data', 'mesh.json'), 'utf8')) as {
        port: number
      }
      const homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
      const { method, path } = meshInternalEndpoints.agentData
      const call = request({
        host: '127.0.0.1',
        port,
        method,
        path: fillPath(path, { id: agent }),
        headers: { [headers.meshInternal]: '1', [headers.home]: homeId },
      }).end()
      const [reply] = await once(call, 'response')
      return reply as IncomingMessage
    }

    it('a backup that is killed while it reads an agent leaves the agent working', async () => {
      const child = spawn(
        process.execPath,
        [meshProgram(), 'backup', '--file', join(folder, 'killed'), '--home', mesh.home],
        {
          env: { ...process.env, FLOTILLA_BACKUP_PASSPHRASE: passphrase },
          stdio: ['ignore', 'pipe', 'ignore'],
        },
      )
      const ended = once(child, 'exit')
      child.stdout.on('data', (piece: Buffer) => {
        if (piece.toString().includes('Reading the data of keeper')) child.kill('SIGKILL')
      })
      await ended
      await eventually('the agent goes on', async () => {
        const { Running, Paused } = await stateOf('keeper')
        return (Running && !Paused) || null
      })
      const note = await mesh.invoke('keeper', 'read_file', { path: 'made/note' })
      expect(JSON.stringify(note.outcome)).toContain('kept')
    })

    it('an agent that was paused by a backup when the mesh was killed continues with the next start', async () => {
      await mesh.kill9()
      // The interrupted backup may have paused the container already.
      if (!(await stateOf('keeper')).Paused) await (await containerOf(mesh, 'keeper')).pause()
      await mesh.restart()
      expect(await stateOf('keeper')).toMatchObject({ Running: true, Paused: false })
      const note = await mesh.invoke('keeper', 'read_file', { path: 'made/note' })
      expect(JSON.stringify(note.outcome)).toContain('kept')
    })
  },
  found,
)
