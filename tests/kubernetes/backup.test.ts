import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { flotilla } from '../support/flotilla-command.ts'
import { openMesh, startMesh, type MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { clusterOfThisRun } from './cluster-lane.ts'
import { storageClass } from './cluster/controllers.ts'
import { agentImage } from './cluster/images.ts'
import { keeperCassette } from './keeper.ts'
import { giveMeshRights } from './mesh-rights.ts'

/** Moves a fleet from one machine into the cluster and back, with the commands of docs/operations. */
const { mesh: asMesh } = clusterOfThisRun()
const environment = {
  KUBECONFIG: asMesh.kubeconfig,
  FLOTILLA_KUBERNETES_IMAGE: agentImage,
  FLOTILLA_KUBERNETES_STORAGE_CLASS: storageClass,
}
const settings = { data_limit_mb: 64 }
let folder: string
let machine: MeshProcess
const closed = () => ['--passphrase-file', join(folder, 'passphrase')]

beforeAll(async () => {
  await giveMeshRights()
  folder = await mkdtemp(join(tmpdir(), 'flotilla-moves-'))
  await writeFile(join(folder, 'passphrase'), 'a long sentence that nobody guesses\n')
  machine = await startMesh({ runtime: 'process', cassettes: { talk: keeperCassette }, settings })
  await machine.createWorker('keeper')
  await machine.ask('keep', { agent: 'keeper' })
}, patient(120_000))
afterAll(async () => {
  await machine?.stop()
  await rm(folder, { recursive: true, force: true })
}, patient(60_000))

/** Writes into the output of each new process of the pod that it can open, and lists the programs that it saw. */
const intruder = `
import os, time
end, seen = time.time() + 300, set(os.listdir('/proc'))
while time.time() < end:
    for pid in os.listdir('/proc'):
        if not pid.isdigit() or pid in seen: continue
        seen.add(pid)
        try:
            with open('/proc/%s/fd/1' % pid, 'wb', buffering=0) as out: out.write(b'forged by the agent')
        except OSError: pass
        try:
            with open('/data/programs', 'a') as programs: programs.write(open('/proc/%s/comm' % pid).read())
        except OSError: pass
`
const intrusions = 3

async function keptBy(mesh: MeshProcess, more: string): Promise<string> {
  const recalled = await mesh.invoke('keeper', 'memory_search', { query: 'tea' })
  const seen = await mesh.invoke('keeper', 'run_command', {
    command: `cat made/note; readlink made/link; stat -c "%a" made; ${more}`,
  })
  return JSON.stringify([recalled.outcome, seen.outcome])
}

it(
  'a backup moves a fleet into the cluster and back with its runs and with what its agents keep',
  async () => {
    const went = join(folder, 'went')
    const made = await flotilla({ home: machine.home }, 'backup', went, ...closed())
    expect(made.code, made.err).toBe(0)
    const before = (await machine.runs()).map(({ id }) => id)
    await machine.terminate()

    const there = join(folder, 'there')
    const into = ['--home', there, ...closed(), '--runtime', 'kubernetes'] as const
    const restored = await flotilla({ home: there, environment }, 'restore', went, ...into)
    expect(restored.code, restored.out + restored.err).toBe(0)
    const cluster = openMesh(there, { runtime: 'kubernetes', environment })
    const came = join(folder, 'came')
    try {
      await cluster.restart()
      const kept = await keptBy(cluster, 'echo of the cluster >> made/note; hostname')
      expect(kept).toContain('drinks tea at four')
      expect(kept).toContain(String.raw`kept\n/usr/bin/env\n750`)
      expect(kept).toContain('flotilla-')
      expect((await cluster.runs()).map(({ id }) => id)).toEqual(expect.arrayContaining(before))
      // A process of the agent that could write into the reader's output would break the backup or forge its
      // archive.
      await cluster.invoke('keeper', 'run_command', {
        command: `cat > intruder.py <<'END'\n${intruder}\nEND\n(setsid python3 intruder.py >/dev/null 2>&1 &) ; true`,
      })
      for (let number = 1; number <= intrusions; number += 1) {
        const during = await flotilla(
          { home: there, environment },
          'backup',
          join(folder, `during-${number}`),
          ...closed(),
        )
        expect(during.code, `backup ${number}: ${during.out}${during.err}`).toBe(0)
        expect(during.out + during.err).not.toContain('keeper was left out')
      }
      const listed = await cluster.invoke('keeper', 'run_command', {
        command: 'sleep 1; cat programs; pkill -f intruder.py',
      })
      const programs = JSON.stringify(listed.outcome)
      expect(programs, 'the intruder sees processes of its own pod').toContain('bash')
      expect(programs, 'the intruder sees no process that reads the data').not.toMatch(/\btar\b|runc/)
      const back = await flotilla({ home: there, environment }, 'backup', came, ...closed())
      expect(back.code, back.out + back.err).toBe(0)
    } finally {
      await cluster.stop()
    }

    const home = join(folder, 'home-again')
    const again = await flotilla(
      { home },
      'restore',
      came,
      '--home',
      home,
      ...closed(),
      '--runtime',
      'process',
    )
    expect(again.code, again.out + again.err).toBe(0)
    const last = openMesh(home, { runtime: 'process' })
    try {
      await last.restart()
      expect(await keptBy(last, 'true')).toContain(String.raw`kept\nof the cluster\n/usr/bin/env\n750`)
    } finally {
      await last.stop()
    }
  },
  patient(400_000),
)
