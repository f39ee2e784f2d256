// Runs inside an agent: calls a model repeatedly in several loops, across mesh restarts, until its time is up.
import { setTimeout as sleep } from 'node:timers/promises'

const [model, loops, seconds] = [process.argv[2] ?? '', Number(process.argv[3]), Number(process.argv[4])]
const address = `${process.env['OPENAI_BASE_URL']}/chat/completions`
const headers = {
  authorization: `Bearer ${process.env['OPENAI_API_KEY']}`,
  'content-type': 'application/json',
}
const messages = [{ role: 'user', content: 'work' }]
const body = JSON.stringify({ model, messages, stream: true, max_tokens: 500 })
const end = Date.now() + seconds * 1000

async function loop() {
  while (Date.now() < end) {
    try {
      const reply = await fetch(address, { method: 'POST', headers, body })
      await reply.text()
      if (reply.status !== 200) await sleep(20)
    } catch {
      // The mesh is down; the test is about the first moment after its restart.
      await sleep(5)
    }
  }
}

await Promise.all(Array.from({ length: loops }, loop))
