/** The declarations of class-transformer's decorators. The package does not export them; Nest's mapped types also read them here. */
declare module 'class-transformer/cjs/storage.js' {
  export const defaultMetadataStorage: import('class-transformer/types/MetadataStorage.js').MetadataStorage;
}
