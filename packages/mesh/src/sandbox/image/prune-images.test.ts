import { mkdtemp, mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { imagesInUse, noteUse } from './image-uses.ts'
import { outdatedImages } from './prune-images.ts'

const agent = (id: string) => ({ reference: `localhost/flotilla/agent:${id}`, id, digest: null })

test('agent images that no home needs are outdated, and a base or an image of others is not ours to judge', () => {
  const base = { reference: 'localhost/flotilla/base:x', id: 'base', digest: null }
  const known = [agent('old'), agent('new'), base]
  expect(outdatedImages(known, new Set(['new'])).map(({ id }) => id)).toEqual(['old'])
})

test('the last two images of each home stay, for as long as the home is there', async () => {
  const cache = await mkdtemp(join(tmpdir(), 'flotilla-uses-'))
  onTestFinished(() => rm(cache, { recursive: true, force: true }))
  const homes = ['one', 'two'].map((id) => ({ id, folder: join(cache, id) }))
  const [one, two] = homes
  if (!one || !two) throw new Error('there are two homes')
  for (const { folder } of homes) await mkdir(folder)
  for (const image of ['a', 'b', 'c']) await noteUse(cache, one, image)
  await noteUse(cache, two, 'a')
  expect([...(await imagesInUse(cache))].toSorted()).toEqual(['a', 'b', 'c'])
  // Gone back to the one before: that one is the newest again.
  await noteUse(cache, one, 'b')
  await noteUse(cache, one, 'd')
  expect([...(await imagesInUse(cache))].toSorted()).toEqual(['a', 'b', 'd'])
  await rm(two.folder, { recursive: true })
  expect([...(await imagesInUse(cache))].toSorted()).toEqual(['b', 'd'])
})
