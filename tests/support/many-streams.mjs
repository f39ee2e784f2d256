// Runs inside an agent: many concurrent streams of the official client, configured by the environment alone.
import OpenAI from 'openai'

const [model, count] = [process.argv[2] ?? '', Number(process.argv[3])]
const client = new OpenAI({ maxRetries: 0 })
const messages = [{ role: 'user', content: 'pour' }]

async function one() {
  try {
    const stream = await client.chat.completions.create({ model, messages, max_tokens: 1000, stream: true })
    let pieces = 0
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) pieces++
    return { pieces }
  } catch (error) {
    const { name, status, code } = { name: error.constructor.name, status: error.status, code: error.code }
    return {
      name,
      status,
      code,
      message: error.message,
      retryAfter: error.headers?.get('retry-after') ?? null,
    }
  }
}

const seen = await Promise.all(Array.from({ length: count }, one))
process.stdout.write(`SEEN ${JSON.stringify(seen)}\n`)
