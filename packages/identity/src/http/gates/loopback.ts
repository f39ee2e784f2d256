/** Whether the address of a socket's peer belongs to this machine. */
export function isLoopbackAddress(address: string | undefined): boolean {
  if (!address) return false
  return address === '::1' || /^(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(address)
}

/** Detects headers of a proxy: behind one, a loopback source proves nothing about the person. */
export function isForwarded(headers: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(headers).some(
    (name) =>
      name === 'forwarded' || name.startsWith('x-forwarded-') || name === 'x-real-ip' || name === 'via',
  )
}

/** Names under which a person on this machine reaches the API; anything else may be DNS rebinding. */
export function isOwnHost(host: string | undefined, port: number): boolean {
  if (!host) return false
  return [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`].includes(host.toLowerCase())
}
