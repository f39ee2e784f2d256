import { cp, mkdtemp, mkdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { imagesInUse, noteUse } from './image-uses.ts'
import { outdatedImages } from './prune-images.ts'

const agent = (id: string) => ({
  reference: `localhost/flotilla/agent:${id}`,
  id,
  digest: null,
  since: 0,
  noted: true,
})
const dayMs = 24 * 3_600_000

test('agent images that no home needs are outdated, and a base or an image of others is not ours to judge', () => {
  const base = { reference: 'localhost/flotilla/base:x', id: 'base', digest: null, since: 0, noted: true }
  const known = [agent('old'), agent('new'), base]
  expect(outdatedImages(known, new Set(['new']), 0).map(({ id }) => id)).toEqual(['old'])
})

test('an agent image without recorded uses is kept for fourteen days, because earlier releases recorded none', () => {
  const unnoted = { ...agent('unnoted'), since: 5, noted: false }
  const at = (now: number) => outdatedImages([unnoted], new Set(), now).map(({ id }) => id)
  expect(at(14 * dayMs)).toEqual([])
  expect(at(14 * dayMs + 5)).toEqual(['unnoted'])
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
  // After a rollback the previous image is the newest again.
  await noteUse(cache, one, 'b')
  await noteUse(cache, one, 'd')
  expect([...(await imagesInUse(cache))].toSorted()).toEqual(['a', 'b', 'd'])
  await rm(two.folder, { recursive: true })
  expect([...(await imagesInUse(cache))].toSorted()).toEqual(['b', 'd'])
})

test('a home that was moved keeps its images once it has started again, and so does a copy beside its source', async () => {
  const cache = await mkdtemp(join(tmpdir(), 'flotilla-uses-'))
  onTestFinished(() => rm(cache, { recursive: true, force: true }))
  const at = (name: string) => ({ id: 'home_1', folder: join(cache, name) })
  await mkdir(at('first').folder)
  await noteUse(cache, at('first'), 'a')
  await rename(at('first').folder, at('moved').folder)
  await noteUse(cache, at('moved'), 'a')
  expect([...(await imagesInUse(cache))]).toEqual(['a'])
  // The check removed the mark of the old folder and nothing else.
  expect([...(await imagesInUse(cache))]).toEqual(['a'])

  await cp(at('moved').folder, at('copied').folder, { recursive: true })
  await noteUse(cache, at('copied'), 'b')
  expect([...(await imagesInUse(cache))].toSorted()).toEqual(['a', 'b'])
  await rm(at('copied').folder, { recursive: true })
  expect([...(await imagesInUse(cache))]).toEqual(['a'])
})
