import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { expect, it, onTestFinished } from 'vitest'
import { flotilla } from '../support/flotilla-command.ts'
import { patient } from '../support/patience.ts'
import { clusterOfThisRun } from './cluster-lane.ts'
import { storageClass } from './cluster/controllers.ts'
import { agentImage } from './cluster/images.ts'
import { giveMeshRights } from './mesh-rights.ts'

const { mesh } = clusterOfThisRun()

it(
  'the demo does the job of the demo in pods, and every wall of it holds there',
  async () => {
    await giveMeshRights()
    const home = await mkdtemp(join(tmpdir(), 'flotilla-demo-'))
    onTestFinished(() => rm(home, { recursive: true }))
    const environment = {
      KUBECONFIG: mesh.kubeconfig,
      FLOTILLA_KUBERNETES_IMAGE: agentImage,
      FLOTILLA_KUBERNETES_STORAGE_CLASS: storageClass,
      NO_COLOR: '1',
    }
    const { code, out, err } = await flotilla({ home, environment }, 'demo', '--runtime', 'kubernetes')
    process.stdout.write(`${out}\n`)
    expect(code, out + err).toBe(0)
    expect(out).toContain('no attack succeeded')
  },
  patient(400_000),
)
