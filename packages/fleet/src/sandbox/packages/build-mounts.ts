import type Dockerode from 'dockerode'

const volumeOptions: NonNullable<Dockerode.MountSettings['VolumeOptions']> = {
  NoCopy: true,
  Labels: {},
  DriverConfig: { Name: 'local', Options: {} },
}

/** Mounts for downloading: the socket of the registry proxy, and a new volume, which is removed with the container. */
export function fetchMounts(registriesFolder: string): readonly Dockerode.MountSettings[] {
  return [
    { Type: 'bind', Source: registriesFolder, Target: '/registries', ReadOnly: true },
    { Type: 'volume', Source: '', Target: '/fetch', VolumeOptions: volumeOptions },
  ]
}

/** Mounts for installing: the downloads, which programs of packages cannot change or add to. */
export function installMounts(volume: string): readonly Dockerode.MountSettings[] {
  return [{ Type: 'volume', Source: volume, Target: '/fetch', ReadOnly: true, VolumeOptions: volumeOptions }]
}
