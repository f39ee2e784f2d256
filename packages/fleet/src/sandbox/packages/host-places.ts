/** Where the configuration of package managers of this machine is. */
export interface HostPlaces {
  /** The home folder of the user that runs the mesh. */
  readonly userFolder: string
  /** The variables of the mesh's process. */
  readonly variables: Readonly<Record<string, string | undefined>>
}
