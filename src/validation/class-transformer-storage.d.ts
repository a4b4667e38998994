/** Declares the metadata of class-transformer's decorators. The package does not export it; Nest's mapped types also read it here. */
declare module 'class-transformer/cjs/storage.js' {
  export const defaultMetadataStorage: import('class-transformer/types/MetadataStorage.js').MetadataStorage;
}
