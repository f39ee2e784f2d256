import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { meshArguments, runMeshCommand } from '../support/mesh-process.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()

withEngine(
  'the agent image for a cluster',
  (engine) => {
    it('the agent image for a cluster is written once, where no home is, and leaves nothing in the engine but what it was made of', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'flotilla-cluster-image-'))
      onTestFinished(() => rm(folder, { recursive: true }))
      const file = join(folder, 'agent.tar')
      const reference = 'registry.example/fleet/agent:7'
      const environment = { ...process.env, FLOTILLA_NO_INSTALL: '1', FLOTILLA_KUBERNETES_IMAGE: reference }
      const write = (to: string) =>
        runMeshCommand(meshArguments('image', '--home', join(folder, 'home'), '--file', to), environment)
      const { code, lines } = await write(file)
      expect(lines.at(-1), JSON.stringify(lines)).toMatchObject({ file, reference })
      expect(code).toBe(0)
      expect(await readdir(folder)).toEqual(['agent.tar'])
      const { stdout } = await promisify(execFile)('tar', ['-xOf', file, 'manifest.json'])
      expect(JSON.parse(stdout)).toMatchObject([{ RepoTags: [reference] }])
      const images = await engine.docker.listImages({ filters: { reference: [reference] } })
      expect(images).toEqual([])
      expect(JSON.stringify((await write(file)).lines)).toContain('already exists')
      expect(JSON.stringify((await write(join(folder, 'none', 'agent.tar'))).lines)).toContain(
        'does not exist',
      )
      // An image with the mesh is built from an installed package, and this is a checkout.
      const both = meshArguments('image-with-mesh', '--home', join(folder, 'home'), '--file', file)
      expect(JSON.stringify((await runMeshCommand(both, environment)).lines)).toContain('npm pack')
    })
  },
  found,
)
