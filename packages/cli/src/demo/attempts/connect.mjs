// Opens TCP connections to host:port pairs and reports the result of each.
import { connect } from 'node:net'

// Other attempts run at the same time, on a small share of a processor that may be emulated.
const waitMs = 20_000

function attempt(target) {
  const [host, port] = target.split(':')
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) })
    const end = (outcome) => {
      socket.destroy()
      resolve({ target, outcome })
    }
    socket.setTimeout(waitMs, () => end('timed out'))
    socket.once('connect', () => end('connected'))
    socket.once('error', (error) => end(error.code ?? error.message))
  })
}

const outcomes = await Promise.all(process.argv.slice(2).map(attempt))
process.stdout.write(`RESULT ${JSON.stringify({ outcomes })}\n`)
