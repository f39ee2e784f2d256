import type Dockerode from 'dockerode'
import { labelKeys } from '../hardening/container-options.ts'
import { packagesRole } from './build-container.ts'

function volumeOptions(homeTag: string): NonNullable<Dockerode.MountSettings['VolumeOptions']> {
  return {
    NoCopy: true,
    Labels: { [labelKeys.home]: homeTag, [labelKeys.role]: packagesRole },
    DriverConfig: { Name: 'local', Options: {} },
  }
}

/** Mounts for downloading: the socket of the registry proxy, and a new volume, which `removeDownloads` removes. */
export function fetchMounts(registriesFolder: string, homeTag: string): readonly Dockerode.MountSettings[] {
  return [
    { Type: 'bind', Source: registriesFolder, Target: '/registries', ReadOnly: true },
    { Type: 'volume', Source: '', Target: '/fetch', VolumeOptions: volumeOptions(homeTag) },
  ]
}

/** Mounts for installing: the downloads, which programs of packages cannot change or add to. */
export function installMounts(volume: string, homeTag: string): readonly Dockerode.MountSettings[] {
  return [
    {
      Type: 'volume',
      Source: volume,
      Target: '/fetch',
      ReadOnly: true,
      VolumeOptions: volumeOptions(homeTag),
    },
  ]
}
