import { expect, test } from 'vitest'
import { outdatedImages } from './prune-images.ts'

test('the thirteen newest agent images stay, and images of others are not ours to judge', () => {
  const agents = Array.from({ length: 15 }, (_, age) => ({
    RepoTags: [`localhost/flotilla/agent:tag${age}`],
    Created: 1000 - age,
  }))
  const others = [
    { RepoTags: ['localhost/flotilla/base:x'], Created: 1 },
    { RepoTags: ['notflotilla/agentx:1'], Created: 1 },
    { RepoTags: null, Created: 1 },
  ]
  expect(outdatedImages([...others, ...agents])).toEqual([
    'localhost/flotilla/agent:tag13',
    'localhost/flotilla/agent:tag14',
  ])
})
