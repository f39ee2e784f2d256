import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { afterAll } from 'vitest'
import { unlessStatus } from '../../packages/fleet/src/sandbox/docker/unless-status.ts'
import type { Engine } from '../../packages/fleet/src/sandbox/engine/connect-engine.ts'
import { followEngine } from '../../packages/fleet/src/sandbox/image/engine-images.ts'
import { tarArchive, tarFile } from '../../packages/fleet/src/sandbox/tar-archive.ts'

export interface BuiltImages {
  /** Returns a name for an image, which is removed after the suite. */
  newName(repository: string): string
  /** Builds an image on this machine as an owner does; returns its name, and the reference with its digest. */
  build(
    lines: readonly string[],
    files?: Readonly<Record<string, string>>,
  ): Promise<{ readonly name: string; readonly reference: string }>
}

/** Builds images of an owner for a suite, and removes them after it. */
export function useBuiltImages(engine: Engine): BuiltImages {
  const { docker } = engine
  const names: string[] = []
  afterAll(async () => {
    for (const name of names)
      await docker
        .getImage(name)
        .remove({ force: true })
        .catch(unlessStatus([404]))
  })
  const newName = (repository: string): string => {
    const name = `localhost/flotilla-test/${repository}:${randomBytes(6).toString('hex')}`
    names.push(name)
    return name
  }
  return {
    newName,
    build: async (lines, files = {}) => {
      const name = newName('own')
      const context = tarArchive([
        tarFile('Dockerfile', Buffer.from(lines.join('\n')), { uid: 0, mode: 0o644 }),
        ...Object.entries(files).map(([path, text]) =>
          tarFile(path, Buffer.from(text), { uid: 0, mode: 0o755 }),
        ),
      ])
      const stream = await docker.buildImage(Readable.from(context), {
        t: name,
        rm: true,
        networkmode: 'none',
      })
      await followEngine(engine, stream)
      const { Id } = await docker.getImage(name).inspect()
      return { name, reference: `${name.slice(0, name.lastIndexOf(':'))}@${Id}` }
    },
  }
}
