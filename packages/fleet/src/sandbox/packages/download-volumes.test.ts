import { expect, test } from 'vitest'
import { removeDownloads, removeUnfinishedDownloads } from './download-volumes.ts'

/** An engine with volumes, each with its labels; a volume in use is refused. */
function anEngine(volumes: Map<string, readonly string[]>, inUse: readonly string[] = []) {
  const refused = (statusCode: number) => Object.assign(new Error('refused'), { statusCode })
  return {
    docker: {
      getVolume: (name: string) => ({
        remove: async () => {
          if (inUse.includes(name)) throw refused(409)
          if (!volumes.delete(name)) throw refused(404)
        },
      }),
      listVolumes: async ({ filters }: { filters: { label: readonly string[] } }) => {
        const found = [...volumes].filter(([, labels]) => filters.label.every((one) => labels.includes(one)))
        return { Volumes: found.map(([Name]) => ({ Name })) }
      },
    } as never,
  }
}

test('a volume of downloads is removed once, and only while no container uses it', async () => {
  const volumes = new Map([
    ['one', []],
    ['used', []],
  ])
  const engine = anEngine(volumes, ['used'])
  await removeDownloads(engine, 'one')
  await removeDownloads(engine, 'one')
  await expect(removeDownloads(engine, 'used')).rejects.toThrow('refused')
  expect([...volumes.keys()]).toEqual(['used'])
})

test('volumes of downloads that a killed mesh left are removed, and those of other homes stay', async () => {
  const volumes = new Map([
    ['used', ['flotilla.home=mine', 'flotilla.role=packages']],
    ['left', ['flotilla.home=mine', 'flotilla.role=packages']],
    ['of-another', ['flotilla.home=other', 'flotilla.role=packages']],
    ['data', ['flotilla.home=mine']],
  ])
  await removeUnfinishedDownloads(anEngine(volumes, ['used']), 'mine')
  expect([...volumes.keys()]).toEqual(['used', 'of-another', 'data'])
})
