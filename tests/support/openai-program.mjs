// Runs inside an agent like any program of a worker: the official client, configured by its environment alone.
import OpenAI from 'openai'

const model = process.argv[2] ?? ''
const messages = [{ role: 'user', content: 'hello' }]
const weather = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: {} } },
}
const client = new OpenAI({ maxRetries: 0 })
const seen = {}

const attempts = {
  async plain() {
    const answer = await client.chat.completions.create({ model, messages })
    return { text: answer.choices[0].message.content, tokens: answer.usage.total_tokens }
  },
  async stream() {
    const stream = await client.chat.completions.create({
      model,
      messages,
      stream: true,
      stream_options: { include_usage: true },
    })
    const pieces = []
    let tokens = 0
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content) pieces.push(chunk.choices[0].delta.content)
      if (chunk.usage) tokens = chunk.usage.total_tokens
    }
    return { text: pieces.join(''), pieces: pieces.length, tokens }
  },
  async tool() {
    const answer = await client.chat.completions.create({ model: 'fake/tool', messages, tools: [weather] })
    return { calls: answer.choices[0].message.tool_calls, finish: answer.choices[0].finish_reason }
  },
  async toolStream() {
    const stream = await client.chat.completions.create({
      model: 'fake/tool',
      messages,
      tools: [weather],
      stream: true,
    })
    const calls = []
    for await (const chunk of stream) calls.push(...(chunk.choices[0]?.delta.tool_calls ?? []))
    return { calls }
  },
  async response() {
    const answer = await client.responses.create({ model, input: 'hello' })
    return { text: answer.output_text, tokens: answer.usage.total_tokens, stored: answer.store }
  },
  async responseStream() {
    const answer = await client.responses.stream({ model, input: 'hello' }).finalResponse()
    return { text: answer.output_text, tokens: answer.usage.total_tokens }
  },
  async responseTool() {
    const tools = [{ type: 'function', name: 'get_weather', parameters: weather.function.parameters }]
    const answer = await client.responses
      .stream({ model: 'fake/tool', input: 'hello', tools })
      .finalResponse()
    return answer.output.filter((item) => item.type === 'function_call')
  },
  async models() {
    const names = []
    for await (const entry of client.models.list()) names.push(entry.id)
    return names
  },
  wrongKey: () => failure(new OpenAI({ apiKey: 'wrong', maxRetries: 0 }), model),
  otherModel: () => failure(client, 'fake/slow'),
  limited: () => failure(client, 'fake/status-429'),
  refused: () => failure(client, 'fake/status-500'),
}

async function failure(from, wanted) {
  try {
    await from.chat.completions.create({ model: wanted, messages })
    return 'no failure'
  } catch (error) {
    return {
      name: error.constructor.name,
      status: error.status,
      code: error.code,
      message: error.message,
      retryAfter: error.headers?.get('retry-after') ?? null,
    }
  }
}

for (const name of process.argv.slice(3)) {
  try {
    seen[name] = await attempts[name]()
  } catch (error) {
    seen[name] = {
      name: error.constructor.name,
      status: error.status,
      code: error.code,
      message: error.message,
    }
  }
}
process.stdout.write(`SEEN ${JSON.stringify(seen)}\n`)
