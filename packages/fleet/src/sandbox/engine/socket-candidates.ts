/** Sockets on which an engine may listen, in the order of the attempts. Pure. */
export interface SocketHints {
  /** Value of `FLOTILLA_ENGINE_SOCKET`: a path or `unix://` address. If set, no other address is tried. */
  readonly engineSocket?: string | undefined
  /** Value of `DOCKER_HOST`. Only `unix://` addresses count, because the engine must run on this machine. */
  readonly dockerHost?: string | undefined
  readonly uid: number
}

export function socketCandidates(hints: SocketHints): readonly string[] {
  if (hints.engineSocket) return [hints.engineSocket.replace(/^unix:\/\//, '')]
  if (hints.dockerHost?.startsWith('unix://')) return [hints.dockerHost.slice('unix://'.length)]
  return [
    '/var/run/docker.sock',
    '/run/podman/podman.sock',
    `/run/user/${hints.uid}/podman/podman.sock`,
    `/run/user/${hints.uid}/docker.sock`,
  ]
}
