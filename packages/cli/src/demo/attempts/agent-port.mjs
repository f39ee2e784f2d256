// Prints the port of the agent that runs this program: from the environment of the nearest ancestor that names one.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

export function agentPort() {
  for (let pid = process.ppid; pid > 0; pid = parentOf(pid)) {
    const port = /(?:^|\0)FLOTILLA_PORT=(\d+)/.exec(read(`/proc/${pid}/environ`))?.[1]
    if (port !== undefined && read(`/proc/${pid}/environ`).includes('FLOTILLA_AGENT_ID=')) return Number(port)
  }
  return 8400
}

/**
 * Whether the port accepts connections, whatever the protocol: in a cluster the agent answers only clients
 * with its key.
 */
export function listens(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

function parentOf(pid) {
  return Number(/^PPid:\s*(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0)
}

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
