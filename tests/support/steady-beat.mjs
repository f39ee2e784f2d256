// Forked by a flood test: calls some addresses in a steady beat and measures how long each waits. It is a process of
// its own, because the test that floods is busy itself.
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

const { calls, beatMs } = JSON.parse(process.argv[2] ?? '{}')
let waits = {}
let beats = 0
let stopping = new AbortController()

async function beat() {
  waits = Object.fromEntries(Object.keys(calls).map((who) => [who, []]))
  beats = 0
  while (!stopping.signal.aborted) {
    for (const [who, { url, headers }] of Object.entries(calls)) {
      const startedAt = performance.now()
      const reply = await fetch(url, { headers })
      await reply.arrayBuffer()
      if (reply.status !== 200) throw new Error(`${who} got ${reply.status}`)
      waits[who].push(performance.now() - startedAt)
    }
    beats += 1
    process.send({ beats })
    await sleep(beatMs)
  }
}

process.on('message', (asked) => {
  if (asked === 'start') {
    stopping = new AbortController()
    void beat().then(() => process.send({ waits }))
  } else stopping.abort()
})
